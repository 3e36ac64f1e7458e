"""Policies as people write them, and as records have them: landmarks and renewals in integers of milliseconds."""

from calendar import monthrange
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from typing import Any, NamedTuple

from stream_app.calendar.landmarks import Reader, is_plain, reach, spans_of
from stream_app.calendar.localtime import DAY, LAST_DAY, LocalTime, local_time, midnight, readings, shown, zone_of
from stream_app.calendar.wrong import Wrong, Wrongs, WrongTimesError, quoted

MOST_RENEWALS = 1_000  # bounds in the member `renew` of a policy record
MEMBERS = ("every", "zone", "first", "until")


def _days(days: int) -> Callable[[datetime, int], datetime]:
    return lambda first, number: first + number * timedelta(days=days)


def _months(months: int) -> Callable[[datetime, int], datetime]:
    def later(first: datetime, number: int) -> datetime:
        """Move by whole months; a day that the month does not have is its last one."""
        year, month = divmod(first.year * 12 + first.month - 1 + number * months, 12)
        return first.replace(year=year, month=month + 1, day=min(first.day, monthrange(year, month + 1)[1]))

    return later


class RenewalPeriod(NamedTuple):
    """How often: the local time of the nth bound after the first; the midnight at which the period of a day begins."""

    later: Callable[[datetime, int], datetime]
    begins: Callable[[datetime], datetime]


PERIODS = {
    "day": RenewalPeriod(_days(1), lambda day: day),
    "week": RenewalPeriod(_days(7), lambda day: day - day.weekday() * DAY),
    "month": RenewalPeriod(_months(1), lambda day: day.replace(day=1)),
    "year": RenewalPeriod(_months(12), lambda day: day.replace(month=1, day=1)),
}


class _PolicyForm(NamedTuple):
    """A form that was read."""

    period: RenewalPeriod
    zone: tzinfo
    first: datetime
    after_ms: int  # bounds are later; -1 where `first` names the first of them
    until_ms: int  # bounds are earlier


def renewals(form: Mapping[str, object], after_ms: int | None = None) -> tuple[int, ...]:
    """Return the bounds of ``{"every":"month","zone":"Europe/Paris","until":"2027-12-31"}`` in ms, ascending.

    `every` is day, week, month or year; `first` is the first bound, a date or a time; without it a bound is each local
    midnight at which such a period begins (weeks begin on Mondays) after ``after_ms``. `until` is inclusive: a day with
    all of it. A local time that does not exist moves forward; of two the earlier is taken.

    Raises:
        WrongTimesError: with everything that is wrong; also for no bound, and for more than `MOST_RENEWALS`.
    """
    asked = _asked(form, after_ms)
    found: list[int] = []
    for bound in _bounds(asked):
        if len(found) == MOST_RENEWALS:
            remedy = "renew less often, or name an earlier `until`"
            raise WrongTimesError([Wrong("until", f"more than {MOST_RENEWALS:,} renewals", remedy)])
        found.append(bound)
    if not found:
        raise WrongTimesError([Wrong("until", "no renewal up to then", "name a later `until`, or leave `renew` away")])
    return tuple(found)


def _bounds(asked: _PolicyForm) -> Iterator[int]:
    number = 0
    while True:
        try:
            local = asked.period.later(asked.first, number)
        except (OverflowError, ValueError):  # behind the calendar's end
            return
        bound = readings(local, asked.zone).usual
        if bound >= asked.until_ms or local.date() > LAST_DAY:
            return
        if bound > asked.after_ms:
            yield bound
        number += 1


def _asked(form: Mapping[str, object], after_ms: int | None) -> _PolicyForm:
    wrongs = Wrongs()
    wrongs.unknown(form, MEMBERS)
    every = form.get("every")
    period = PERIODS.get(every) if isinstance(every, str) else None
    if period is None:
        wrongs.append(Wrong("every", quoted(every), f"write one of {', '.join(PERIODS)}"))
    zone = wrongs.unless("zone", lambda: zone_of(form.get("zone")))
    until = wrongs.unless("until", lambda: local_time(form.get("until"), zone or UTC))
    first = None
    if "first" in form:
        first = wrongs.unless("first", lambda: local_time(form["first"], zone or UTC))
    elif after_ms is None:
        wrongs.append(Wrong("first", "nothing", "name the first bound, a date or a time: no clock decides it here"))
    wrongs.tell()
    assert period is not None
    assert zone is not None
    assert until is not None
    if first is not None:
        local = first.start if first.zone is zone else shown(readings(first.start, first.zone).usual, zone)
        return _PolicyForm(period, zone, local, -1, _behind(until))
    assert after_ms is not None
    return _PolicyForm(period, zone, period.begins(midnight(shown(after_ms, zone).date())), after_ms, _behind(until))


def _behind(until: LocalTime) -> int:
    """Return the first moment behind a day, or behind a time."""
    if until.is_day:
        return readings(until.start + DAY, until.zone).first
    return readings(until.start, until.zone).last + 1


def in_integers(
    document: Mapping[str, Any], read: Reader, after_ms: int | None = None
) -> tuple[Mapping[str, Any], list[Wrong]]:
    """Return a policy record with all its times in ms, and what is wrong with them; it has none of what is wrong.

    A record that holds integers alone is returned as it is. `protection.zone` is that of landmarks that name none.
    ``read`` gives the calendar files that landmarks name. Without ``after_ms`` a renewal must say when it is first.
    """
    wrongs = Wrongs()
    found = dict(document)
    protection, dummies, renew = (document.get(name) for name in ("protection", "dummies", "renew"))
    zone: tzinfo | None = None
    if isinstance(protection, Mapping):
        if "zone" in protection:
            zone = wrongs.unless("protection.zone", partial(zone_in, document)) or UTC
        found["protection"] = _protection(protection, zone, read, wrongs, secret=dummies is not None)
    if isinstance(dummies, Mapping):
        found.pop("dummies")
        if ranged := wrongs.unless("dummies", partial(_ranged, dummies, zone)):
            found["dummies"] = ranged
    if isinstance(renew, Mapping):
        found.pop("renew")
        if bounds := wrongs.unless("renew", partial(renewals, renew, after_ms)):
            found["renew"] = list(bounds)
    return (document if found == document else found), list(wrongs)


def zone_in(document: Mapping[str, Any]) -> tzinfo | None:
    """Return the zone of a record's landmarks that name none; raises `WrongTimesError` for what is no zone."""
    protection = document.get("protection")
    return zone_of(protection["zone"]) if isinstance(protection, Mapping) and "zone" in protection else None


def _protection(
    protection: Mapping[str, Any], zone: tzinfo | None, read: Reader, wrongs: Wrongs, *, secret: bool
) -> dict[str, Any]:
    found = {name: value for name, value in protection.items() if name != "zone"}
    if is_plain(protection.get("landmarks")):
        return found
    try:
        spans = spans_of(protection["landmarks"], zone, read)
    except WrongTimesError as error:
        # PRIVACY: under dummies the landmarks are a secret, and a worker logs what is wrong with its default policies.
        told = [wrong._replace(found="something else") for wrong in error.wrongs] if secret else error.wrongs
        wrongs += [wrong.under("protection.landmarks") for wrong in told]
        spans = ()
    found["landmarks"] = [each if isinstance(each, int) else list(each) for each in spans]
    return found


def _ranged(dummies: Mapping[str, Any], zone: tzinfo | None) -> dict[str, Any]:
    """Return `dummies` with its range in ms; a day as the end is in the range with all of it."""
    wrongs = Wrongs()
    found = dict(dummies)
    for member, side in (("start", 0), ("end", 1)):
        if isinstance(dummies.get(member), str) and (
            ends := wrongs.unless(member, partial(reach, dummies[member], zone))
        ):
            found[member] = ends[side]
    wrongs.tell()
    return found
