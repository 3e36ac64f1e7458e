"""Policies as people write them, and as records have them: landmarks and renewals in integers of milliseconds."""

from collections.abc import Mapping
from datetime import UTC, tzinfo
from functools import partial
from typing import Any

from stream_app.calendar.landmarks import Reader, is_plain, reach, spans_of
from stream_app.calendar.localtime import zone_of
from stream_app.calendar.renewal import renewals
from stream_app.calendar.wrong import Wrong, Wrongs, WrongTimesError


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
