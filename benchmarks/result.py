"""Results of a benchmark (figures of all repeats, targets), and its progress bars."""

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from types import TracebackType
from typing import Literal, Self

from rich.console import Console
from rich.progress import Progress, TaskID


@dataclass(frozen=True, slots=True)
class Figure:
    """One quantity, measured several times."""

    unit: str
    runs: tuple[float, ...]

    @classmethod
    def of(cls, unit: str, runs: Iterable[float]) -> "Figure":
        """Return the figure of these runs; there must be at least one."""
        return cls(unit, tuple(runs))

    @property
    def median(self) -> float:
        """The median of the runs."""
        return median(self.runs)

    def document(self) -> dict[str, object]:
        """Return the figure as JSON values."""
        return {
            "unit": self.unit,
            "median": self.median,
            "min": min(self.runs),
            "max": max(self.runs),
            "runs": list(self.runs),
        }


@dataclass(frozen=True, slots=True)
class Target:
    """A bound that a figure should meet."""

    figure: str
    bound: Literal["at least", "at most"]
    value: float

    def met(self, figures: Mapping[str, Figure]) -> bool:
        """Return whether the median meets the bound."""
        found = figures[self.figure].median
        return found >= self.value if self.bound == "at least" else found <= self.value


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one benchmark."""

    bench: str
    sizes: Mapping[str, object]
    figures: Mapping[str, Figure]
    targets: tuple[Target, ...] = ()

    def document(self) -> dict[str, object]:
        """Return the result as JSON values."""
        return {
            "bench": self.bench,
            "sizes": dict(self.sizes),
            "figures": {name: figure.document() for name, figure in self.figures.items()},
            "targets": [
                {
                    "figure": target.figure,
                    "bound": target.bound,
                    "value": target.value,
                    "met": target.met(self.figures),
                }
                for target in self.targets
            ],
        }


Show = Callable[[str, int, int], None]
"""Function to show progress: what is counted, how many are done, the total."""


class Bars:
    """One progress bar for each task; there are none without a terminal."""

    def __init__(self) -> None:
        """Start without bars."""
        self._progress = Progress(console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True)
        self._bars: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        """Start the display."""
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the bars."""
        self._progress.stop()

    def show(self, what: str, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` are done."""
        if what not in self._bars:
            self._bars[what] = self._progress.add_task(what, total=total)
        self._progress.update(self._bars[what], completed=done, total=total)
