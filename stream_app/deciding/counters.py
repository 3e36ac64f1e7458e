"""The raw counters of the open steps of a partition's series: in memory alone, mutable, one object a partition.

Nothing here is ever written: a worker that lost it reads the input again, from `Collection.floor` on. Who contributed
is kept as digests under a random key of this object alone: a digest in a swap file or a dump tells nothing to whoever
has the noise key, and nothing to anybody once this process has ended.
"""

from array import array
from collections.abc import Iterable, KeysView
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, final

from stream_app.deciding.readings import LostCountersError, Readings
from stream_app.deciding.units.blocks import Blocks
from stream_app.privacy.collected.collect import Gathered
from stream_app.privacy.reason import Reason
from stream_app.privacy.values import Raw, RawCells

MEMBER_DIGEST_BYTES = 16
PERSON = b"landmark-members"


@final
@dataclass(slots=True, repr=False)
class Counters:
    """One open step: its raw counters, and the digests of who contributed."""

    _gathers: Gathered
    _keyed: blake2b = field(compare=False)  # the hash under whose key members become digests
    offset: int  # of the watermark that opened the step
    cells: "array[int]"  # each starts with noise
    members: set[bytes] = field(default_factory=set)
    looks: int = 0  # announced intrusions so far

    def hidden(self, member: bytes) -> bytes:
        """Return the digest of a member at this step; at another one it is another."""
        keyed = self._keyed.copy()
        keyed.update(member)
        return keyed.digest()

    def count(self, member: bytes, item: Raw) -> Reason | None:
        """Take up one member's item, or return why not and change nothing."""
        keyed = self._keyed.copy()
        keyed.update(member)
        digest = keyed.digest()
        # PRIVACY: a second item of a member is refused before its value is looked at.
        if digest in self.members:
            return "duplicate"
        # PRIVACY: this branch shows whether the item was valid, nothing else of it.
        added = self._gathers.added(item)
        if added is None:
            return "invalid-value"
        self.members.add(digest)
        cell, more = added
        # PRIVACY: the raw item moves a counter that stays in memory until its step closes.
        self.cells[cell] += more
        return None

    def closed(self) -> RawCells:
        """Return what the counters come to."""
        return self._gathers.closed(self.cells, len(self.members))

    def see(self, noise: Iterable[int]) -> None:
        """Take up fresh noise after an announced intrusion."""
        self.looks += 1
        for nth, fresh in enumerate(noise):
            self.cells[nth] += fresh


@final
class Collection:
    """The open steps of all series of a partition: counters of collected ones, readings of others; none at first.

    ``key`` (32 random bytes, drawn anew for each object) hides members in their digests. What steps of units read lies
    in ``units``, rows that are stored: memory alone holds nothing of it.
    """

    __slots__ = ("_floor", "_keyed", "_series", "readings", "units")

    def __init__(self, key: bytes, units: Blocks | None = None) -> None:
        self._keyed: Final = blake2b(key=key, digest_size=MEMBER_DIGEST_BYTES, person=PERSON)
        self._series: Final[dict[str, dict[int, Counters]]] = {}  # steps ascending
        self._floor: int | None = None
        self.readings: Final = Readings()
        self.units: Final = Blocks() if units is None else units

    def count(self, series: str, index: int, member: str, value: Raw) -> Reason | None:
        """Take up one member's item at an open step, or return why not.

        Raises:
            LostCountersError: if the step's counters are not in memory.
        """
        counters = self.opened(series).get(index)
        if counters is None:
            raise LostCountersError(series, index)
        return counters.count(member.encode(), value)

    def open(self, series: str, gathers: Gathered, index: int, offset: int, noise: Iterable[int]) -> None:
        """Begin to count step ``index`` of a series; steps are opened in order."""
        keyed = self._keyed.copy()
        keyed.update(b"%d:%d:%b" % (index, len(series.encode()), series.encode()))
        self._series.setdefault(series, {})[index] = Counters(gathers, keyed, offset, array("q", noise))
        self._floor = None

    def close(self, series: str, index: int) -> RawCells:
        """Return what the counters of an open step came to, and forget them.

        Raises:
            LostCountersError: if they are not in memory.
        """
        counters = self.opened(series).pop(index, None)
        if counters is None:
            raise LostCountersError(series, index)
        self._floor = None
        return counters.closed()

    def drop(self, series: str) -> None:
        """Forget all open steps of a series, without reading what they hold."""
        self._series.pop(series, None)
        self._floor = None
        self.readings.drop(series)

    def opened(self, series: str) -> dict[int, Counters]:
        """Return the counters of a series' open steps, by step."""
        return self._series.get(series, {})

    def series(self) -> KeysView[str]:
        """Return the series that count contributions, or did since they were last dropped."""
        return self._series.keys()

    def floor(self) -> int | None:
        """Return the offset of the oldest record that opened a step still open; None: none is open.

        The input must be read again from there to have this memory back, so it is acknowledged no further.
        """
        if self._floor is None:
            # The first step of a series is its oldest: an offset never goes back.
            firsts = (next(iter(steps.values()), None) for steps in self._series.values())
            self._floor = min((first.offset for first in firsts if first is not None), default=None)
        read = self.readings.floor()
        if self._floor is None or read is None:
            return read if self._floor is None else self._floor
        return min(self._floor, read)

    def __len__(self) -> int:
        """Return how many steps are open, of all series."""
        return sum(map(len, self._series.values())) + len(self.readings)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Collection) and (
            (self._series, self.readings, self.units) == (other._series, other.readings, other.units)
        )

    __hash__ = None  # type: ignore[assignment]
