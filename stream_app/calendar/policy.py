"""Policies as people write them, converted to records with landmarks and renewals in milliseconds."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from typing import Any, Final, NamedTuple

from stream_app.calendar.landmarks import Reader, is_plain, reach, spans_of
from stream_app.calendar.localtime import (
    DAY,
    LAST_DAY,
    Wrong,
    Wrongs,
    WrongTimesError,
    ZonedTime,
    local_time,
    midnight,
    quoted,
    readings,
    shown,
    transitions,
    zone_of,
)
from stream_app.calendar.words import days_cut, length_ms
from stream_app.privacy.policy import Policy

MOST_RENEWALS = 1_000  # maximum number of bounds in `renew` of a policy
MEMBERS = ("every", "zone", "first", "until")


class RenewalPeriod(NamedTuple):
    """A renewal period's length, and a function that maps a day to the midnight at which the day's period begins."""

    length: Mapping[str, int]  # a day past a month's end becomes its last day
    begins: Callable[[datetime], datetime]


PERIODS = {
    "day": RenewalPeriod({"days": 1}, lambda day: day),
    "week": RenewalPeriod({"weeks": 1}, lambda day: day - day.weekday() * DAY),
    "month": RenewalPeriod({"months": 1}, lambda day: day.replace(day=1)),
    "year": RenewalPeriod({"years": 1}, lambda day: day.replace(month=1, day=1)),
}


class _PolicyForm(NamedTuple):
    """The contents of a `renew` form."""

    period: RenewalPeriod
    zone: tzinfo
    first: datetime
    after_ms: int  # bounds are later; -1 if `first` is the first
    until_ms: int  # bounds are earlier


def renewals(form: Mapping[str, object], after_ms: int | None = None) -> tuple[int, ...]:
    """Return the bounds of a renewal form in ms, in ascending order.

    An example is ``{"every":"month","zone":"Europe/Paris","until":"2027-12-31"}``. `every` is day, week, month or year.
    `first` is the first bound, a date or a time. Without `first`, the bounds are the local midnights after ``after_ms``
    at which a period of that kind begins (weeks begin on Mondays). `until` is inclusive: a date means that day's end.
    A local time that does not exist moves forward; if a local time occurs twice, the earlier moment is used.

    Raises:
        WrongTimesError: lists every fault; also raised if there is no bound, or more than `MOST_RENEWALS`.
    """
    asked = _asked(form, after_ms)
    found: list[int] = []
    for bound in _bounds(asked):
        if len(found) == MOST_RENEWALS:
            remedy = "renew less often, or use an earlier `until`"
            raise WrongTimesError([Wrong("until", f"more than {MOST_RENEWALS:,} renewals", remedy)])
        found.append(bound)
    if not found:
        raise WrongTimesError([Wrong("until", "no renewal before it", "use a later `until`, or omit `renew`")])
    return tuple(found)


def _bounds(asked: _PolicyForm) -> Iterator[int]:
    from dateutil.relativedelta import relativedelta  # noqa: PLC0415 - for policies that renew alone

    number, length = 0, relativedelta(**asked.period.length)
    while True:
        try:
            local: datetime = asked.first + number * length
        except (OverflowError, ValueError):  # after the calendar's end
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
        wrongs.append(Wrong("every", quoted(every), f"use one of {', '.join(PERIODS)}"))
    zone = wrongs.unless("zone", lambda: zone_of(form.get("zone")))
    until = wrongs.unless("until", lambda: local_time(form.get("until"), zone or UTC))
    first = None
    if "first" in form:
        first = wrongs.unless("first", lambda: local_time(form["first"], zone or UTC))
    elif after_ms is None:
        wrongs.append(
            Wrong("first", "nothing", "add the first bound, a date or a time, because no clock provides it here")
        )
    wrongs.tell()
    assert period is not None
    assert zone is not None
    assert until is not None
    if first is not None:
        local = first.start if first.zone is zone else shown(readings(first.start, first.zone).usual, zone)
        return _PolicyForm(period, zone, local, -1, _behind(until))
    assert after_ms is not None
    return _PolicyForm(period, zone, period.begins(midnight(shown(after_ms, zone).date())), after_ms, _behind(until))


def _behind(until: ZonedTime) -> int:
    start, zone = until.start, until.zone
    return readings(start + DAY, zone).first if until.is_day else readings(start, zone).last + 1


def in_integers(
    document: Mapping[str, Any], read: Reader, after_ms: int | None = None
) -> tuple[Mapping[str, Any], list[Wrong]]:
    """Return a policy record with all times in ms and without its faulty members, together with the faults.

    A length of time may be a string, such as "5min" or "1d".

    A record that contains only integers is returned unchanged. `protection.zone` applies to landmarks that name no
    zone, and to statistics by hour or weekday. ``read`` returns the calendar files that landmarks name. Without
    ``after_ms``, a renewal must state its first bound, and local times must state when their offsets begin.
    """
    wrongs = Wrongs()
    found = dict(document)
    members = "protection", "value", "dummies", "renew"
    protection, value, dummies, renew = (document.get(name) for name in members)
    zone: tzinfo | None = None
    if isinstance(protection, Mapping):
        if "zone" in protection:
            zone = wrongs.unless("protection.zone", partial(zone_in, document)) or UTC
        found["protection"] = _protection(protection, zone, read, wrongs, secret=dummies is not None)
    if isinstance(value, Mapping):
        found["value"] = wrongs.unless("value", partial(resolved, value, zone, after_ms)) or value
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
    """Return the zone for landmarks that name no zone; raise `WrongTimesError` if the zone is invalid."""
    protection = document.get("protection")
    return zone_of(protection["zone"]) if isinstance(protection, Mapping) and "zone" in protection else None


def days_cut_by(policy: Policy, zone: tzinfo, now_ms: int) -> str:
    """Return a warning if a policy's whole-day steps do not match the days of a zone; otherwise return "".

    The check uses the step of the first landmark, or the current step if there are no landmarks.
    """
    # PRIVACY: landmarks that dummies hide are not among the policy's landmarks, so the warning reveals nothing about
    # them.
    marked = policy.landmarks.intervals
    at_ms = policy.grid.span_of(marked[0])[0] if marked else now_ms
    offset_ms = None if policy.units is None else policy.offset_ms
    return days_cut(policy.step_ms, policy.start_of(policy.index_of(at_ms)), zone, offset_ms)


def _protection(
    protection: Mapping[str, Any], zone: tzinfo | None, read: Reader, wrongs: Wrongs, *, secret: bool
) -> dict[str, Any]:
    found = {name: value for name, value in protection.items() if name != "zone"}
    for name in LENGTHS & found.keys():
        if isinstance(found[name], str):
            found[name] = wrongs.unless(f"protection.{name}", partial(_length, found[name])) or 1
    if is_plain(protection.get("landmarks")):
        return found
    try:
        spans = spans_of(protection["landmarks"], zone, read)
    except WrongTimesError as error:
        # PRIVACY: under dummies the landmarks are secret, and a worker logs the faults of its default policies.
        told = [wrong._replace(found="something else") for wrong in error.wrongs] if secret else error.wrongs
        wrongs += [wrong.under("protection.landmarks") for wrong in told]
        spans = ()
    found["landmarks"] = [each if isinstance(each, int) else list(each) for each in spans]
    return found


LENGTHS: Final = frozenset({"step", "unit", "offset"})
"""Members of `protection` that are lengths of time, which people may write as "5min" or "1d"."""


def _length(text: str) -> int:
    found = length_ms(text)
    if found is None:
        raise WrongTimesError.of(text, 'use milliseconds, or a length such as "5min", "1h", "1d" or "1w"')
    return found


def _ranged(dummies: Mapping[str, Any], zone: tzinfo | None) -> dict[str, Any]:
    """Return `dummies` with their range in ms; if the end is a day, the whole day is included."""
    wrongs = Wrongs()
    found = dict(dummies)
    for member, side in (("start", 0), ("end", 1)):
        if isinstance(dummies.get(member), str) and (
            ends := wrongs.unless(member, partial(reach, dummies[member], zone))
        ):
            found[member] = ends[side]
    wrongs.tell()
    return found


CLOCKS: Final = ("zone", "first")
NO_CLOCK: Final = 'add the first day, as in "transitions":{"first":"2026-01-01"}, because no clock provides it here'


def resolved(value: Mapping[str, Any], zone: tzinfo | None, after_ms: int | None) -> dict[str, Any]:
    """Return the member `value` of a policy record with its `transitions` as integers.

    The transitions are those of ``transitions.zone`` or, if that is missing, of ``zone``. They begin at
    ``transitions.first`` or, if that is missing, at ``after_ms``. A value without `by` has no transitions. Transitions
    that are already integers are kept. Without a zone, local time is UTC, which has no transitions.

    Raises:
        WrongTimesError: with every fault, under its member.
    """
    found, form = dict(value), value.get("transitions")
    is_utc = zone is None or zone.utcoffset(None) == timedelta(0)  # None if the offset changes
    if "by" not in value or isinstance(form, list) or (form is None and is_utc):
        return found
    if form is not None and not isinstance(form, Mapping):
        remedy = 'use a list, or an object with "zone" and "first"'
        raise WrongTimesError([Wrong("transitions", quoted(form), remedy)])
    asked: Mapping[str, Any] = form or {}
    told = Wrongs()
    told.unknown(asked, CLOCKS)
    clocks = told.unless("zone", lambda: zone_of(asked["zone"])) if "zone" in asked else zone
    first_ms = told.unless("first", lambda: _first_ms(asked["first"], clocks or UTC)) if "first" in asked else after_ms
    wrongs = Wrongs(wrong.under("transitions") for wrong in told)
    if clocks is None and not told:
        wrongs.append(Wrong("transitions.zone", "nothing", 'add a zone, as in "zone":"Europe/Paris"'))
    if first_ms is None and "first" not in asked:
        wrongs.append(Wrong("transitions", "nothing" if form is None else "no first day", NO_CLOCK))
    wrongs.tell()
    assert clocks is not None
    assert first_ms is not None
    several = transitions(clocks, first_ms)
    found.pop("transitions", None)
    if several != ((first_ms, 0),):  # UTC needs none
        found["transitions"] = [list(each) for each in several]
    return found


def _first_ms(first: object, zone: tzinfo) -> int:
    named = local_time(first, zone)
    return readings(named.start, named.zone).first
