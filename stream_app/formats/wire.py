"""Bytes to event records, and plain JSON both ways; `encoding` writes what comes of the records.

Input bytes are hostile: `decode` answers every byte string with a record or `Malformed`, and never raises.
"""

import re

import orjson

from stream_app.formats.records import (
    CloseRecord,
    Contribution,
    EventRecord,
    Intrusion,
    LandmarksRecord,
    Malformed,
    MemberRecord,
    Observation,
    PolicyRecord,
    Watermark,
)
from stream_app.privacy.landmarks import Interval
from stream_app.privacy.parameters import LARGEST_EPSILON, LARGEST_VERSION, LAST_TIMESTAMP_MS
from stream_app.privacy.values import Raw, is_number, nano

LARGEST_RECORD_BYTES = 256 * 1024
LARGEST_SERIES_BYTES = 200
LARGEST_MEMBER_BYTES = 200
POLICY_ENVELOPE = frozenset({"type", "series", "version", "weaker"})
"""Members of a policy record that are none of its parameters."""


SEED = re.compile("[0-9a-f]{64}", re.ASCII)


def decode(value: bytes | None) -> EventRecord | MemberRecord | Malformed:
    """Return the event record that ``value`` holds."""
    found = _object(value)
    if isinstance(found, Malformed):
        return found
    series, timestamp_ms = found.get("series"), found.get("timestamp")
    if type(timestamp_ms) is not int or not 0 <= timestamp_ms <= LAST_TIMESTAMP_MS:
        timestamp_ms = None
    record_type = found.get("type", "observation")
    if record_type == "member":
        return _decode_member(found)
    if type(series) is not str or not series:
        return Malformed("malformed", None, timestamp_ms)
    if len(series) * 4 > LARGEST_SERIES_BYTES and len(series.encode()) > LARGEST_SERIES_BYTES:
        return Malformed("too-large", None, timestamp_ms)
    if record_type != "observation":
        if record_type in ("contribution", "watermark", "intrusion"):
            return _decode_collected(record_type, series, timestamp_ms, found)
        return _decode_control(record_type, series, found) or Malformed("malformed", series, timestamp_ms)
    if timestamp_ms is None or "value" not in found:
        return Malformed("malformed", series, timestamp_ms)
    return Observation(series, timestamp_ms, Raw(found["value"]))


def _object(value: bytes | None) -> dict[str, object] | Malformed:
    """Return the JSON object that ``value`` holds."""
    if value is not None and len(value) > LARGEST_RECORD_BYTES:
        return Malformed("too-large")
    try:
        found = orjson.loads(value or b"")
    except orjson.JSONDecodeError:
        found = None
    return found if type(found) is dict else Malformed("malformed")


def _decode_member(found: dict[str, object]) -> MemberRecord | Malformed:
    member, epsilon = found.get("member"), found.get("epsilon")
    if type(member) is not str or not member:
        return Malformed("malformed")
    if len(member.encode()) > LARGEST_MEMBER_BYTES:
        return Malformed("too-large")
    if not is_number(epsilon) or not 0 <= epsilon <= LARGEST_EPSILON or (epsilon and not nano(epsilon)):
        return Malformed("malformed", member=member)
    return MemberRecord(member, nano(epsilon))


def _decode_control(record_type: object, series: str, found: dict[str, object]) -> EventRecord | None:
    if record_type == "policy":
        version, weaker = found.get("version"), found.get("weaker", False)
        if type(version) is not int or not 1 <= version <= LARGEST_VERSION or type(weaker) is not bool:
            return None
        parameters = {name: found[name] for name in found if name not in POLICY_ENVELOPE}
        return PolicyRecord(series, version, parameters, weaker)
    if record_type == "landmarks":
        add = _spans(found.get("add"))
        return LandmarksRecord(series, add) if add else None
    return CloseRecord(series) if record_type == "close" else None


def _decode_collected(
    record_type: object, series: str, timestamp_ms: int | None, found: dict[str, object]
) -> EventRecord | Malformed:
    if record_type == "contribution":
        member = found.get("member")
        if type(member) is not str or not member or timestamp_ms is None or "value" not in found:
            return Malformed("malformed", series, timestamp_ms)
        if len(member.encode()) > LARGEST_MEMBER_BYTES:
            return Malformed("too-large", series, timestamp_ms)
        return Contribution(series, timestamp_ms, member, Raw(found["value"]))
    seed = found.get("seed")
    if record_type == "watermark" and "seed" not in found and timestamp_ms is not None:
        return Watermark(series, timestamp_ms, None)
    if type(seed) is str and SEED.fullmatch(seed):
        if record_type == "intrusion":
            return Intrusion(series, bytes.fromhex(seed))
        if timestamp_ms is not None:
            return Watermark(series, timestamp_ms, bytes.fromhex(seed))
    return Malformed("malformed", series, timestamp_ms)


def _spans(found: object) -> tuple[int | Interval, ...]:
    """Return timestamps and intervals, or nothing when one of them is neither."""
    if not isinstance(found, list):
        return ()
    spans: list[int | Interval] = []
    for span in found:
        if _is_timestamp(span):
            spans.append(span)
        elif isinstance(span, list) and len(span) == 2 and all(map(_is_timestamp, span)) and span[0] < span[1]:
            spans.append((span[0], span[1]))
        else:
            return ()
    return tuple(spans)


def _is_timestamp(found: object) -> bool:
    return type(found) is int and 0 <= found <= LAST_TIMESTAMP_MS


def dump(document: object) -> bytes:
    """Return the JSON bytes of plain lists, dicts, strings, numbers and booleans."""
    return orjson.dumps(document)


def load(value: bytes) -> object:
    """Return what JSON bytes hold; raises `ValueError` for anything else."""
    return orjson.loads(value)
