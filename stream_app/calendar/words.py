"""Converts ms to readable moments and durations, and warns of times that look like seconds."""

import re
from datetime import UTC, tzinfo
from typing import Final

from stream_app.calendar.localtime import EPOCH, LAST_DAY, MILLISECOND

DAY_MS: Final = 86_400_000
UNITS = (("d", DAY_MS), ("h", 3_600_000), ("min", 60_000), ("s", 1000), ("ms", 1))
SECONDS_BEGIN, SECONDS_END = 300_000_000, 100_000_000_000
"""Numbers between these bounds are times in 1970 to 1973 if read as ms, and in 1979 to 5138 if read as seconds."""


def moment_in_words(moment_ms: int, zone: tzinfo = UTC) -> str:
    """Return a moment in the shortest ISO 8601 form with an offset, such as 2026-03-29T17:00+02:00.

    The last step may end in the year 10000, which is beyond the calendar; that moment is returned as a number of ms.
    """
    try:
        moment = EPOCH + moment_ms * MILLISECOND
    except OverflowError:
        return f"{moment_ms} ms"
    if moment.date() <= LAST_DAY:
        moment = moment.astimezone(zone)
    unit = "milliseconds" if moment_ms % 1000 else "seconds" if moment.second else "minutes"
    return moment.isoformat(timespec=unit).replace("+00:00", "Z")


def duration_in_words(duration_ms: int) -> str:
    """Return a duration in days, hours, minutes, seconds and milliseconds, such as 1 h 30 min."""
    parts, left = [], duration_ms
    for unit, length in UNITS:
        count, left = divmod(left, length)
        if count:
            parts.append(f"{count:,} {unit}")
    return " ".join(parts) or "0 ms"


LENGTHS_MS: Final = {**dict(UNITS), "hour": 3_600_000, "day": 86_400_000, "w": 604_800_000, "week": 604_800_000}
"""Lengths of time by name; names may be plural."""
LENGTH: Final = re.compile(r"(?:([1-9][0-9]{0,11}) ?)?([A-Za-z]+)", re.ASCII)


def length_ms(text: str) -> int | None:
    """Return, in ms, a length such as 5min, 1 h, 1D, week or 30 days; return None if it is invalid."""
    found = LENGTH.fullmatch(text.strip())
    if found is None:
        return None
    name = found[2].lower()
    one = LENGTHS_MS.get(name, LENGTHS_MS.get(name.removesuffix("s") if len(name) > len("ms") else name))
    return None if one is None or (found[1] is None and len(name) < len("day")) else int(found[1] or 1) * one


def step_as_seconds(step_ms: int) -> str:
    """Return a warning if a step looks like whole minutes given in seconds; otherwise return ""."""
    if step_ms % 60 or not step_ms % 1000:
        return ""
    said, meant = duration_in_words(step_ms), duration_in_words(1000 * step_ms)
    return f"{step_ms} looks like seconds: in milliseconds it is {said}; for {meant}, use {1000 * step_ms}"


def moment_as_seconds(moment_ms: int) -> str:
    """Return a warning if a moment looks like a number of seconds; otherwise return ""."""
    if not SECONDS_BEGIN <= moment_ms < SECONDS_END:
        return ""
    said, meant = moment_in_words(moment_ms), moment_in_words(1000 * moment_ms)
    return f"{moment_ms} looks like seconds: in milliseconds it is {said}; for {meant}, use {1000 * moment_ms}"


def days_cut(step_ms: int, start_ms: int, zone: tzinfo, offset_ms: int | None) -> str:
    """Return a warning if steps of whole days never start at midnight in a zone; otherwise return "".

    ``start_ms`` is the start of one of the steps. ``offset_ms`` is the policy's offset, or None if the policy cannot
    have an offset.
    """
    if step_ms % DAY_MS:
        return ""
    half_year_ms = max(1, 182 * DAY_MS // step_ms) * step_ms
    local, other = ((EPOCH + each * MILLISECOND).astimezone(zone) for each in (start_ms, start_ms + half_year_ms))
    late_ms = (local.hour * 60 + local.minute) * 60_000
    if not late_ms or (other.hour, other.minute) == (0, 0):
        return ""
    said = (
        f"steps of {duration_in_words(step_ms)} start at {local:%H:%M} in {zone}, so they are not calendar days there"
    )
    if offset_ms is None:
        return said
    minutes = (offset_ms - late_ms) % step_ms // 60_000
    wanted = f"{minutes}min" if minutes % 60 else f"{minutes // 60}h"
    return f'{said}; with "offset":"{wanted}" they start at midnight there until the clocks change'
