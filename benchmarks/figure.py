"""A measured figure: the values of all repeats, their median, least and most."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Literal


@dataclass(frozen=True, slots=True)
class Figure:
    """One quantity, measured several times."""

    unit: str
    runs: tuple[float, ...]

    @classmethod
    def of(cls, unit: str, runs: Iterable[float]) -> "Figure":
        """Return the figure of these runs, at least one."""
        return cls(unit, tuple(runs))

    @property
    def median(self) -> float:
        """The middle of the runs."""
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
    """What a figure should be."""

    figure: str
    bound: Literal["at least", "at most"]
    value: float

    def met(self, figures: Mapping[str, Figure]) -> bool:
        """Tell whether the median is on the right side."""
        found = figures[self.figure].median
        return found >= self.value if self.bound == "at least" else found <= self.value


@dataclass(frozen=True, slots=True)
class Result:
    """What one benchmark found."""

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
