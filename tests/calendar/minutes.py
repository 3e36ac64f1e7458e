"""A second, literal reading of local times: a zone's clocks, minute by minute of UTC, without offsets."""

from datetime import UTC, date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)
CHANGING = (
    "Europe/Paris",
    "Europe/Dublin",  # winter time is the one that differs
    "America/New_York",
    "America/St_Johns",  # changed a minute past midnight until 2011
    "America/Havana",  # changes at midnight
    "Africa/Cairo",  # the same, and not every year
    "Asia/Beirut",
    "America/Santiago",
    "Australia/Lord_Howe",  # half an hour
    "Antarctica/Troll",  # two hours
    "Africa/Casablanca",  # changes for Ramadan
    "Pacific/Apia",  # skipped a day
    "Asia/Kathmandu",  # never changes now
)


@cache
def changes_of(zone: str, year: int) -> list[date]:
    """Return the days of a year on which a zone's clocks change, or its first day if there are none."""
    noons = [datetime(year, 1, 1, 12, tzinfo=UTC) + timedelta(days=number) for number in range(366)]
    offsets = [noon.astimezone(ZoneInfo(zone)).utcoffset() for noon in noons]
    found = [noons[number].date() for number in range(1, 366) if offsets[number] != offsets[number - 1]]
    return found or [date(year, 1, 1)]


class Minutes:
    """What clocks show at each minute of UTC, from three days before one day to four days after another."""

    def __init__(self, zone: ZoneInfo, first: date, last: date) -> None:
        self.start = datetime(first.year, first.month, first.day, tzinfo=UTC) - timedelta(days=3)
        count = ((last - first).days + 7) * 1440
        self.shown = [
            (self.start + number * MINUTE).astimezone(zone).replace(tzinfo=None, fold=0) for number in range(count)
        ]
        self.at: dict[datetime, list[int]] = {}
        for number, local in enumerate(self.shown):
            self.at.setdefault(local, []).append(number)

    def _ms(self, number: int) -> int:
        return int((self.start + number * MINUTE).timestamp()) * 1000

    def _jump(self, local: datetime) -> int:
        """Return the first minute after the clocks jump over a local time."""
        (found,) = [
            number for number in range(1, len(self.shown)) if self.shown[number - 1] < local < self.shown[number]
        ]
        return found

    def first(self, local: datetime) -> int:
        """Return the first moment, in ms, at which clocks show a time or jump over it."""
        return self._ms(self.at[local][0] if local in self.at else self._jump(local))

    def last(self, local: datetime) -> int:
        """Return the last moment, in ms, at which clocks show a time, or would if they had not jumped."""
        if local in self.at:
            return self._ms(self.at[local][-1])
        before = self._jump(local) - 1
        return self._ms(before + (local - self.shown[before]) // MINUTE)
