"""Times as files write them, and the moments that they represent.

A local time that clocks show twice stands for two moments. The order of the rows shows which of the two passes is
meant: the first pass continues from the earlier rows, and ends when the times go back.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from stream_app.calendar.localtime import DAY, FIRST_DAY, LAST_DAY, midnight, milliseconds, readings, shown
from stream_app.mapping.cells import Cell, DatedRow, FileError, text_of
from stream_app.mapping.form import UNITS, FileMapping
from stream_app.plain import INTEGER
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS

Stamp = int | datetime | None
"""Milliseconds since 1970-01-01 UTC, a local time without an offset, or None for a cell that is not a time."""
_MIDNIGHT: Final = re.compile(r"(?<=[T ])24(?=:00(:00)?$)", re.ASCII)
MOST_WAITING: Final = 500_000
"""The maximum number of rows, over all series, that may wait for later rows to show which pass they belong to."""
MOST_DIGITS: Final = 22
"""The number of digits in a time in nanoseconds up to the year 9999."""
_APART_MS: Final = 3 * 3_600_000
"""Two rows in the same repeated hour are closer together than this."""
ISO: Final = "2026-01-31T08:00:00+01:00"
OFFSET: Final = f"add the offset to these times, as in {ISO}"


class Clock:
    """Reads the times of one file."""

    def __init__(self, mapping: FileMapping) -> None:
        self._format, self._zone = mapping.time_format, mapping.zone
        self._factor = UNITS.get(mapping.time_format or "")

    def stamp(self, cells: Sequence[Cell]) -> Stamp:
        """Return the time that the cells together represent.

        Raises `FileError` if the form of a time needs a zone or a format that the mapping does not name.
        """
        texts = list(map(text_of, cells))
        if not all(texts):
            return None
        text = texts[0] if len(texts) == 1 else " ".join(texts)
        found = self._parsed(text)
        if isinstance(found, datetime):
            if found.tzinfo is not None:
                return milliseconds(found)
            if not FIRST_DAY.year <= found.year < LAST_DAY.year:
                return None
            if self._zone is None:
                raise FileError(f"a time like 2012-01-02 03:04 has no time zone; {ZONE_REMEDY}")
        elif self._format is None and (found is None or found > LAST_TIMESTAMP_MS) and (fault := time_fault(text)):
            raise FileError(fault)
        return found

    def _parsed(self, text: str) -> Stamp:
        if self._factor is not None:
            return self._counted(text, self._factor)
        if self._format is None and INTEGER.fullmatch(text):
            return int(text)
        try:
            return self._moment(text)
        except ValueError:
            pass
        try:  # some files write the end of a day as 24:00
            return self._moment(_MIDNIGHT.sub("00", text)) + DAY if _MIDNIGHT.search(text) else None
        except ValueError:
            return None

    def _moment(self, text: str) -> datetime:
        if self._format is None:
            return datetime.fromisoformat(text)
        return datetime.strptime(text, self._format)  # noqa: DTZ007 (the zone comes later)

    @staticmethod
    def _counted(text: str, factor: Decimal) -> int | None:
        try:
            number = Decimal(text)
        except InvalidOperation:
            return None
        if not number.is_finite() or number.adjusted() > MOST_DIGITS:
            return None
        found = int((number * factor).__floor__())
        return found if abs(found) <= LAST_TIMESTAMP_MS else None


class TimedRow(NamedTuple):
    """A row and its moment, which is None if its cells are not a time."""

    row: DatedRow
    moment_ms: int | None


class _Waiting(NamedTuple):
    """A row in an hour that clocks show twice; its moment depends on later rows."""

    row: DatedRow
    local: datetime
    readings: tuple[int, int]

    def near(self, other: "_Waiting") -> bool:
        """Return whether both rows are in the same repeated hour."""
        return abs(self.readings[0] - other.readings[0]) < _APART_MS


class _Run(list[_Waiting]):
    """Consecutive rows of one series within an hour that clocks show twice."""

    begun = False  # whether the series has rows before these

    def moments(self) -> list[int]:
        """Return the rows' moments; raise `FileError` if the order of the rows does not determine the moments."""
        pairs = [(before.local, one.local) for before, one in pairwise(self)]
        back = [nth for nth, (before, local) in enumerate(pairs, 1) if local < before]
        if not back:  # a time that is there twice belongs to both passes if all times do
            halves = [nth for nth, (before, local) in enumerate(pairs, 1) if local == before]
            locals_of = [one.local for one in self]
            if halves and not (len(halves) == 1 and locals_of[: halves[0]] == locals_of[halves[0] :]):
                raise FileError(
                    f"clocks show this time twice, and all rows have the same time; {OFFSET}", self[0].row.number
                )
            back = halves
        if len(back) > 1 or not (back or self.begun):
            what = "rows go back in time more than once" if back else "it is the first row"
            message = f"clocks go back and show this time twice, and {what}, so the time is ambiguous"
            raise FileError(f"{message}; {OFFSET}", self[0].row.number)
        second = back[0] if back else len(self)
        return [one.readings[nth >= second] for nth, one in enumerate(self)]


class Moments:
    """Finds the moments of rows whose times are in ascending order."""

    def __init__(self, zone: ZoneInfo | None) -> None:
        """Accept the ``zone`` of local times, or None if there is no zone."""
        self._zone = zone
        self._ahead_ms: dict[date, int | None] = {}  # how many ms clocks are ahead of UTC all day; None: it varies
        self._runs: dict[str | None, _Run] = {}
        self._begun = set[str | None]()
        self._last: dict[str | None, _Waiting] = {}  # last row of each previous run
        self._known: dict[int, int] = {}  # the moments of rows that waited, by row number
        self.assumed = 0
        """The number of rows in a repeated hour that the file contains only once; they were read as its first pass."""

    def of(self, rows: Iterable[DatedRow]) -> Iterator[TimedRow]:
        """Yield rows with their moments; a row waits until later rows of its series show which pass it belongs to.

        Raises `FileError` for a local time that the clocks skip, and for a repeated time if the order of the rows does
        not show its pass.
        """
        waiting = deque[_Waiting | TimedRow]()
        for row in rows:
            found = self._read(row)
            if not waiting and isinstance(found, TimedRow):
                yield found
                continue
            waiting.append(found)
            if len(waiting) > MOST_WAITING:
                message = (
                    f"more than {MOST_WAITING:,} rows belong to an hour that clocks show twice, or follow such rows"
                )
                raise FileError(f"{message}; {OFFSET}, or split the file", row.number)
            yield from self._told(waiting)
        for run in self._runs.values():
            self._settle(run)
        yield from self._told(waiting)

    def _told(self, waiting: deque[_Waiting | TimedRow]) -> Iterator[TimedRow]:
        """Yield the waiting rows, up to the first row whose moment is still unknown."""
        while waiting:
            one = waiting[0]
            if isinstance(one, _Waiting):
                if one.row.number not in self._known:
                    return
                one = TimedRow(one.row, self._known.pop(one.row.number))
            yield one
            waiting.popleft()

    def _read(self, row: DatedRow) -> TimedRow | _Waiting:
        """Return a row with its moment and end the run of its series, or add the row to a run."""
        stamp = row.stamp
        if isinstance(stamp, datetime):
            found = self._local(row, stamp)
            if isinstance(found, _Waiting):
                return found
            stamp = found
        if stamp is not None:
            if ended := self._runs.pop(row.series, None):
                self._settle(ended)
            self._begun.add(row.series)
        return TimedRow(row, stamp)

    def _local(self, row: DatedRow, stamp: datetime) -> int | _Waiting:
        zone, day = self._zone, stamp.date()
        if zone is None:
            raise FileError(f"has no time zone; {ZONE_REMEDY}", row.number)
        if day not in self._ahead_ms:
            self._ahead_ms[day] = _steady(day, zone)
        if (ahead_ms := self._ahead_ms[day]) is not None:
            return milliseconds(stamp.replace(tzinfo=UTC)) - ahead_ms
        found = readings(stamp, zone)
        if shown(found.usual, zone) != stamp:
            raise FileError(f"clocks in {zone.key} skip this time; check the zone of the file", row.number)
        if len(found.moments) == 1:
            return found.usual
        one = _Waiting(row, stamp, (found.usual, found.last))
        run = self._runs.setdefault(row.series, _Run())
        if run and not one.near(run[-1]):
            self._settle(run)
            self._begun.add(row.series)
            run = self._runs[row.series] = _Run()
        if not run and (last := self._last.get(row.series)) is not None and one.near(last):
            message = f"clocks show this time twice, and rows return to it; {OFFSET}"
            raise FileError(message, row.number)
        run.begun = row.series in self._begun
        run.append(one)
        return one

    def _settle(self, run: _Run) -> None:
        self._last[run[-1].row.series] = run[-1]
        moments = run.moments()
        self._known.update(zip((one.row.number for one in run), moments, strict=True))
        if moments[-1] == run[-1].readings[0]:
            self.assumed += len(run)


def _steady(day: date, zone: ZoneInfo) -> int | None:
    """Return how many ms a zone's clocks are ahead of UTC all day, or None if they change around that day."""
    found = {
        milliseconds(midnight(at).replace(tzinfo=UTC)) - readings(midnight(at), zone).usual
        for at in (day - DAY, day, day + DAY, day + 2 * DAY)
    }
    return found.pop() if len(found) == 1 else None


ZONE_REMEDY: Final = "set it with --zone, as in --zone Europe/Paris"
_FORMAT: Final = "give its format, as in --time-format"

# PRIVACY: a message shows an example of the form that was found, never the time itself.
_FORMS: Final[tuple[tuple[str, str, str], ...]] = (
    *(
        (
            rf"[0-9]{{1,2}}[{mark}][0-9]{{1,2}}[{mark}][0-9]{{2,4}}([ T,]+[0-9:. ]+([AaPp][Mm])?)?",
            f"02{mark}01{mark}2012",
            f"may be in January or in February; {_FORMAT} '%d{mark}%m{mark}%Y %H:%M'",
        )
        for mark in "/.-"
    ),
    (
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)? ?[A-Za-z][A-Za-z/_ ]+",
        "2012-01-02 03:04 UTC",
        f"names its zone with letters; {_FORMAT} '%Y-%m-%d %H:%M UTC', and --zone UTC",
    ),
    (
        r"[0-9]{4}[/.][0-9]{1,2}[/.][0-9]{1,2}([ T,]+[0-9:. ]+)?",
        "2012/01/02 03:04",
        f"is not ISO 8601; {_FORMAT} '%Y/%m/%d %H:%M'",
    ),
    (
        r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .*[0-9]{4}.*",
        "Mon, 02 Jan 2012 03:04:00 +0100",
        f"is in the email date format; {_FORMAT} '%a, %d %b %Y %H:%M:%S %z'",
    ),
    (
        r"([0-9]{1,2}\.? )?(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.? .*[0-9]{4}.*",
        "Jan 2 2012 03:04",
        f"is not ISO 8601; {_FORMAT} '%b %d %Y %H:%M'",
    ),
    (
        r"[0-9](\.[0-9]+)?[Ee]\+?[0-9]+",
        "1.33857E+12",
        "was rounded by a spreadsheet; format its column as whole numbers there, and save the file again",
    ),
    (r"[0-9]{12,13}\.[0-9]*", "1338566400000.0", "is in milliseconds with decimals; add --time-format ms"),
    (r"[0-9]{9,10}\.[0-9]+", "1325473440.5", "is in seconds; add --time-format s"),
    (r"[0-9]{16}", "1325473440000000", "is in microseconds; add --time-format us"),
    (r"[0-9]{19}", "1325473440000000000", "is in nanoseconds; add --time-format ns"),
)
_KNOWN: Final = tuple((re.compile(form, re.ASCII), example, remedy) for form, example, remedy in _FORMS)


def time_fault(text: str) -> str:
    """Return what is wrong with a time in a common form that no default can read, or "" for other forms."""
    return next((f"a time like {example} {remedy}" for form, example, remedy in _KNOWN if form.fullmatch(text)), "")
