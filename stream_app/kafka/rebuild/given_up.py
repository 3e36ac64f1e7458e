"""Releases lost with their input, once the operator has accepted the loss.

The operator accepts the loss with `recover --accept-lost-releases`. Nobody can compute such a release again. Its step
remains processed and its epsilon remains spent, as the ledger records; nothing is published for the step. The series
continues from the last known release of its period. If there is none, the series is closed.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from stream_app.deciding.context import Context
from stream_app.deciding.decider import INPUT_HEADER
from stream_app.deciding.outcome import ProcessedRecord, seal
from stream_app.deciding.rebuild import GIVEN_UP
from stream_app.deciding.rows import SeriesRow
from stream_app.kafka.brokers import Writer
from stream_app.kafka.client.topics import TopicNames
from stream_app.privacy import fold
from stream_app.privacy.reason import Rejection

ALL: Final = 2**63  # beyond every input offset


class GivenUp:
    """The steps whose releases are missing, for input from ``first`` up to but not including ``end``.

    ``last`` is the last input with a missing release.
    """

    def __init__(self, first: int, end: int) -> None:
        self.steps = Counter[str]()  # number of steps by series
        self.inputs: list[int] = []
        self._first, self._end = first, end

    def add(self, series: str, offset: int) -> None:
        """Give up the step of a series from input ``offset``."""
        self.steps[series] += 1
        self.inputs.append(offset)

    @property
    def last(self) -> int:
        """Return the last input with a release that is given up; -1 if there is none."""
        return max(self.inputs, default=-1)

    def again(self) -> "GivenUp":
        """Return a copy in which nothing is given up yet."""
        return GivenUp(self._first, self._end)

    def or_given_up(self, entry: Mapping[str, Any], offset: int, releases: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """Return ``releases``, or a placeholder if the release for an entry of input ``offset`` is given up."""
        if entry["entry"] != "release" or entry["release"] in releases or not self._first <= offset < self._end:
            return releases
        self.add(entry["series"], offset)
        return {entry["release"]: GIVEN_UP}


def closed(context: Context, rows: Iterable[SeriesRow], now_ms: int) -> list[ProcessedRecord]:
    """Return the outcomes that close series in which every measurement of the period is given up.

    Their ledger says that the period has a release. Every later step that is not published with noise must repeat that
    release, which is lost.
    """
    # PRIVACY: which series are closed follows from ledger and releases alone, and a closed series publishes nothing.
    unable = [row for row in rows if row.state.released and not row.state.latest.estimate]
    moves = ((row, fold.close(row.policy, row.state)) for row in unable)
    return [seal(context, row, None, moved, now_ms) for row, moved in moves if not isinstance(moved, Rejection)]


async def close(writer: Writer, names: TopicNames, ended: Iterable[ProcessedRecord], offset: int) -> None:
    """Write the entries that close series; the entries name input ``offset``."""
    pages = writer.pages()
    for outcome in ended:
        for entry in outcome.entries:
            pages.append(outcome.row.key, entry.value, entry.timestamp_ms, [(INPUT_HEADER, b"%d" % offset)])
    if pages.records:
        await writer.begin()
        await writer.send(names.ledger, pages)
        await writer.commit()
