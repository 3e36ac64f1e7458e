"""A picture of a ledger: what each release spent over time, and what share of the budget was left."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from stream_app.audit.entry import ReleaseEntry

SHOWN_SERIES: Final = 12
"""Series drawn: the first ones of the ledger."""
POINTS: Final = 2_000
"""Points kept a series; of more, every second one is dropped, and then every second one taken."""
NANO: Final = 10**9
MS: Final = 1000


class PictureError(Exception):
    """The picture cannot be drawn; the message has the remedy."""


@dataclass(slots=True)
class _Line:
    every: int = 1
    seen: int = 0
    points: list[tuple[int, int, bool, float]] = field(default_factory=list)  # ms, spend, landmark, share left

    def add(self, point: tuple[int, int, bool, float]) -> None:
        if self.seen % self.every == 0:
            self.points.append(point)
            if len(self.points) > POINTS:
                del self.points[1::2]
                self.every *= 2
        self.seen += 1


class Picture:
    """Collects what it draws while an audit runs: hand `watch` to the auditor."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._lines: dict[str, _Line] = {}
        self._others: set[int] = set()  # hashes of the series that are not drawn

    def watch(self, entry: ReleaseEntry) -> None:
        """Take in a release entry."""
        line = self._lines.get(entry.series)
        if line is None:
            if len(self._lines) >= SHOWN_SERIES:
                self._others.add(hash(entry.series))
                return
            line = self._lines[entry.series] = _Line()
        used = entry.landmark_spent_nano + entry.regular_peak_nano
        left = 1 - used / entry.budget_nano if entry.budget_nano > 0 else 0.0
        line.add((entry.timestamp, entry.epsilon_nano, entry.landmark, left))

    def draw(self, path: Path) -> None:
        """Write the picture; its format follows from the name's ending.

        Raises:
            PictureError: matplotlib is missing, or it does not know the format.
            OSError: the file cannot be written.
        """
        try:
            from matplotlib.dates import AutoDateLocator, ConciseDateFormatter  # noqa: PLC0415 - an optional extra
            from matplotlib.figure import Figure  # noqa: PLC0415
        except ModuleNotFoundError as error:
            raise PictureError("--picture needs matplotlib: pip install 'landmark-stream[demo]'") from error
        figure = Figure(figsize=(11, 7), layout="constrained")
        spends, shares = figure.subplots(2, 1, sharex=True)
        for name, line in self._lines.items():
            times = [datetime.fromtimestamp(at / MS, UTC) for at, _, _, _ in line.points]
            left = [share for _, _, _, share in line.points]
            (drawn,) = shares.step(times, left, where="post", lw=1.2, label=ascii(name)[1:-1][:24])
            for landmark, marker, size in ((False, ".", 5), (True, "D", 4)):
                chosen = [nth for nth, point in enumerate(line.points) if point[1] and point[2] is landmark]
                height = [line.points[nth][1] / NANO for nth in chosen]
                spends.plot([times[nth] for nth in chosen], height, marker, ms=size, color=drawn.get_color())
        count = len(self._lines) + len(self._others)
        spends.set_title(f"Ledger: {len(self._lines)} of {count} series (diamonds are landmarks)")
        spends.set_ylabel("epsilon of a release")
        spends.set_yscale("log")
        shares.set_ylabel("share of the budget left")
        shares.set_ylim(-0.02, 1.02)
        shares.set_xlabel("event time (UTC)")
        locator = AutoDateLocator()  # type: ignore[no-untyped-call]
        shares.xaxis.set_major_locator(locator)
        shares.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
        if self._lines:
            figure.legend(*shares.get_legend_handles_labels(), loc="outside right upper", title="series")
        try:
            figure.savefig(path, dpi=110)
        except ValueError as error:
            raise PictureError(f"{path}: {error}") from error
