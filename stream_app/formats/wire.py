"""Decode bytes to event records, and convert plain JSON to and from bytes; `encoding` encodes the outputs.

Input bytes are hostile: `decode` returns a record or `MalformedRecord` for every byte string, and never raises.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, cast

import orjson

from stream_app.formats.records import (
    CloseRecord,
    Contribution,
    EventRecord,
    InputRecord,
    Intrusion,
    LandmarksRecord,
    MalformedRecord,
    MemberRecord,
    Observation,
    Parsed,
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
"""The fields of a policy record that are not parameters."""


SEED = re.compile("[0-9a-f]{64}", re.ASCII)


def decode(value: bytes | None) -> EventRecord | MemberRecord | MalformedRecord:
    """Return the event record in ``value``."""
    return record_of(parsed(value))


def decoded(record: InputRecord) -> EventRecord | MemberRecord | MalformedRecord:
    """Return the event record in an input record, without parsing it a second time."""
    return record_of(parsed(record.value) if record.parsed is None else record.parsed)


def parsed(value: bytes | None) -> Parsed:
    """Return the content of ``value``."""
    if value is not None and len(value) > LARGEST_RECORD_BYTES:
        return MalformedRecord("too-large")
    try:
        return _observed((orjson.loads(value or b""),))[0]
    except orjson.JSONDecodeError:
        return MalformedRecord("malformed")


def parsed_all(values: Sequence[bytes | None]) -> list[Parsed]:
    """Return `parsed` for each value."""
    try:
        if max(map(len, cast("list[bytes]", values)), default=0) <= LARGEST_RECORD_BYTES:  # None has no length
            return _observed(map(orjson.loads, cast("list[bytes]", values)))
    except (TypeError, orjson.JSONDecodeError):
        pass
    return [parsed(value) for value in values]


def _observed(documents: Iterable[Any]) -> list[Parsed]:
    """Return the parsed form of JSON documents, dropping extra fields of observations."""
    made: list[Parsed] = []
    take = made.append
    for found in documents:
        try:
            series, timestamp_ms, value = found["series"], found["timestamp"], found["value"]
        except (KeyError, TypeError):
            take(found if type(found) is dict else MalformedRecord("malformed"))
            continue
        if (
            type(timestamp_ms) is int
            and 0 <= timestamp_ms <= LAST_TIMESTAMP_MS
            and type(series) is str
            and series
            and (len(series) * 4 <= LARGEST_SERIES_BYTES or not _too_large(series))
            and ("type" not in found or found["type"] == "observation")
        ):
            take((series, timestamp_ms, value))
        else:
            take(found)
    return made


def _too_large(series: str) -> bool:
    """Return whether a series' name is too long."""
    return len(series.encode()) > LARGEST_SERIES_BYTES


def contributed(found: Parsed) -> tuple[str, int, str, Raw] | None:
    """Return a contribution's series (possibly invalid), timestamp, contributor and value."""
    if type(found) is not dict or "value" not in found or found.get("type") != "contribution":
        return None
    series, timestamp_ms, member = found.get("series"), found.get("timestamp"), found.get("member")
    if (
        type(series) is not str
        or type(timestamp_ms) is not int
        or not 0 <= timestamp_ms <= LAST_TIMESTAMP_MS
        or type(member) is not str
        or not 0 < len(member.encode()) <= LARGEST_MEMBER_BYTES
    ):
        return None
    return series, timestamp_ms, member, found["value"]


def record_of(found: Any) -> EventRecord | MemberRecord | MalformedRecord:
    """Return the event record for a parsed value."""
    if type(found) is tuple:
        return Observation(*found)
    if isinstance(found, MalformedRecord):
        return found
    series, timestamp_ms = found.get("series"), found.get("timestamp")
    if type(timestamp_ms) is not int or not 0 <= timestamp_ms <= LAST_TIMESTAMP_MS:
        timestamp_ms = None
    record_type = found.get("type", "observation")
    if record_type == "member":
        return _decode_member(found)
    if type(series) is not str or not series:
        return MalformedRecord("malformed", None, timestamp_ms)
    if _too_large(series):
        return MalformedRecord("too-large", None, timestamp_ms)
    if record_type in ("contribution", "watermark", "intrusion"):
        return _decode_collected(record_type, series, timestamp_ms, found)
    return _decode_control(record_type, series, found) or MalformedRecord("malformed", series, timestamp_ms)


def _decode_member(found: dict[str, object]) -> MemberRecord | MalformedRecord:
    member, epsilon = found.get("member"), found.get("epsilon")
    if type(member) is not str or not member:
        return MalformedRecord("malformed")
    if len(member.encode()) > LARGEST_MEMBER_BYTES:
        return MalformedRecord("too-large")
    if not is_number(epsilon) or not 0 <= epsilon <= LARGEST_EPSILON or (epsilon and not nano(epsilon)):
        return MalformedRecord("malformed", member=member)
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
) -> EventRecord | MalformedRecord:
    if record_type == "contribution":
        item = contributed(found)
        if item is not None:
            return Contribution(*item)
        member = found.get("member")
        whole = type(member) is str and timestamp_ms is not None and "value" in found
        too_large = whole and len(str(member).encode()) > LARGEST_MEMBER_BYTES
        return MalformedRecord("too-large" if too_large else "malformed", series, timestamp_ms)
    seed = found.get("seed")
    if record_type == "watermark" and "seed" not in found and timestamp_ms is not None:
        return Watermark(series, timestamp_ms, None)
    if type(seed) is str and SEED.fullmatch(seed):
        if record_type == "intrusion":
            return Intrusion(series, bytes.fromhex(seed))
        if timestamp_ms is not None:
            return Watermark(series, timestamp_ms, bytes.fromhex(seed))
    return MalformedRecord("malformed", series, timestamp_ms)


def _spans(found: object) -> tuple[int | Interval, ...]:
    """Return the timestamps and intervals, or an empty tuple if any item is neither."""
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
    # Copy to the exact length, because orjson's result retains the kilobytes of its write buffer.
    return b"%b" % orjson.dumps(document)


def load(value: bytes) -> object:
    """Return the value that JSON bytes represent; raises `ValueError` if they are invalid."""
    return orjson.loads(value)
