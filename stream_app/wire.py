"""Bytes to records and back, pure: the only file of the worker that knows JSON.

Input bytes are hostile: `decode` answers every byte string with a record or `Malformed`, and never raises. Output bytes
are canonical: member order is fixed, so the same release or entry has the same hash on every machine.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, assert_never, final

import orjson

from stream_app.privacy.contribution import Collected, Contribution, Intrusion, Watermark
from stream_app.privacy.entry import (
    CloseEntry,
    DummiesEntry,
    IntrusionEntry,
    LandmarksEntry,
    PolicyEntry,
    ReleaseEntry,
)
from stream_app.privacy.fold import Observation
from stream_app.privacy.kinds import Kind
from stream_app.privacy.landmarks import Interval
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS
from stream_app.privacy.raw import Raw
from stream_app.privacy.reason import Reason
from stream_app.privacy.release import Approximated, Perturbed, Release, Withheld

LARGEST_RECORD_BYTES = 256 * 1024
LARGEST_SERIES_BYTES = 200
LARGEST_MEMBER_BYTES = 200
LARGEST_VERSION = 2**53 - 1
HASH_BYTES = 32
_EMPTY = blake2b(digest_size=HASH_BYTES)
NO_HASH = "0" * (2 * HASH_BYTES)
"""The previous hash of a chain's first entry."""


@dataclass(frozen=True, slots=True)
class PolicyRecord:
    """A policy version; ``parameters`` are its other members, unchecked."""

    series: str
    version: int
    parameters: Mapping[str, object] = field(repr=False)  # the landmarks among them may be a secret


@dataclass(frozen=True, slots=True)
class LandmarksRecord:
    """Landmarks to add: timestamps and ``[start, end)`` intervals in milliseconds."""

    series: str
    add: tuple[int | Interval, ...]


@dataclass(frozen=True, slots=True)
class CloseRecord:
    """A series that ends."""

    series: str


@dataclass(frozen=True, slots=True)
class Malformed:
    """Bytes that are no record; series and timestamp where they could be read."""

    reason: Reason
    series: str | None = None
    timestamp_ms: int | None = None


EventRecord = Observation | PolicyRecord | LandmarksRecord | CloseRecord | Collected
SEED = re.compile("[0-9a-f]{64}", re.ASCII)


def decode(value: bytes | None) -> EventRecord | Malformed:
    """Return the event record that ``value`` holds."""
    found = _object(value)
    if isinstance(found, Malformed):
        return found
    series, timestamp_ms = found.get("series"), found.get("timestamp")
    if type(timestamp_ms) is not int or not 0 <= timestamp_ms <= LAST_TIMESTAMP_MS:
        timestamp_ms = None
    if type(series) is not str or not series:
        return Malformed("malformed", None, timestamp_ms)
    if len(series) * 4 > LARGEST_SERIES_BYTES and len(series.encode()) > LARGEST_SERIES_BYTES:
        return Malformed("too-large", None, timestamp_ms)
    record_type = found.get("type", "observation")
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


def _decode_control(record_type: object, series: str, found: dict[str, object]) -> EventRecord | None:
    if record_type == "policy":
        version = found.get("version")
        if type(version) is not int or not 1 <= version <= LARGEST_VERSION:
            return None
        parameters = {name: found[name] for name in found if name not in {"type", "series", "version"}}
        return PolicyRecord(series, version, parameters)
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


def encode_release(series: str, kind: Kind, version: int, release: Release) -> bytes:
    """Return the bytes of a release."""
    match release:
        case Perturbed():
            record: dict[str, object] = {
                "series": series,
                "timestamp": release.timestamp_ms,
                "value": kind.publish(release.estimate),
                "decision": "perturbed",
                "measurement": kind.publish(release.measurement),
                "epsilon_nano": release.spend_nano,
                "scale": kind.scale(release.spend_nano),
                "policy": version,
            }
        case Approximated():
            record = {
                "series": series,
                "timestamp": release.timestamp_ms,
                "value": kind.publish(release.estimate),
                "decision": "approximated",
                "source": release.source_ms,
                "policy": version,
            }
        case Withheld():
            record = {
                "series": series,
                "timestamp": release.timestamp_ms,
                "decision": "withheld",
                "policy": version,
            }
        case _:
            assert_never(release)
    return orjson.dumps(record)


@final
class Link:
    """What ties an entry into its series' chain: its number, the hash before it, the key in use."""

    __slots__ = ("epoch", "key", "previous", "sequence", "series")

    def __init__(self, series: str, sequence: int, previous: str, key: str, epoch: int) -> None:
        """Hold a place; ``key`` is the key's fingerprint."""
        self.series: Final = series
        self.sequence: Final = sequence
        self.previous: Final = previous
        self.key: Final = key
        self.epoch: Final = epoch


Sealed = tuple[bytes, str]
"""An entry's bytes and its hash in hex, the next entry's ``previous``."""


def digest(value: bytes) -> str:
    """Return the BLAKE2b-256 of ``value`` in hex."""
    state = _EMPTY.copy()  # quicker than to begin anew
    state.update(value)
    return state.hexdigest()


def encode_release_entry(link: Link, entry: ReleaseEntry, release_hash: str) -> Sealed:
    """Return the bytes of a release's entry and its hash, which covers all bytes before ``,"hash":"``."""
    # Put together by hand: one is made for every event, and all but the series are numbers and words of our own.
    series = orjson.dumps(link.series).decode()
    landmark = "true" if entry.landmark else "false"
    epsilon = f'"epsilon_nano":{entry.spend_nano},' if entry.decision == "perturbed" else ""
    return _sealed(
        f'{{"series":{series},"sequence":{link.sequence},"entry":"release","timestamp":{entry.timestamp_ms},'
        f'"decision":"{entry.decision}","landmark":{landmark},"policy":{entry.version},'
        f'"budget_nano":{entry.budget_nano},{epsilon}"landmark_spent_nano":{entry.landmark_spent_nano},'
        f'"landmarks_left":{entry.landmarks_left},"regular_peak_nano":{entry.regular_peak_nano},'
        f'"release":"{release_hash}","key":"{link.key}","epoch":{link.epoch},"previous":"{link.previous}"'.encode()
    )


def encode_entry(
    link: Link, entry: PolicyEntry | DummiesEntry | LandmarksEntry | IntrusionEntry | CloseEntry
) -> Sealed:
    """Return the bytes of any other entry and its hash."""
    record: dict[str, object] = {"series": link.series, "sequence": link.sequence}
    match entry:
        case PolicyEntry():
            record["entry"] = "policy"
            record["policy"] = entry.version
            record["budget_nano"] = entry.budget_nano
            record["charged_nano"] = entry.charged_nano
            record["parameters"] = entry.parameters
        case DummiesEntry():
            record["entry"] = "dummies"
            record["policy"] = entry.version
            record["method"] = entry.method
            record["charged_nano"] = entry.charged_nano
        case LandmarksEntry():
            record["entry"] = "landmarks"
            record["policy"] = entry.version
            record["add"] = entry.add_ms
            record["charged_nano"] = entry.charged_nano
            record["budget_nano"] = entry.figures.budget_nano
            record["landmark_spent_nano"] = entry.figures.landmark_spent_nano
            record["landmarks_left"] = entry.figures.landmarks_left
            record["regular_peak_nano"] = entry.figures.regular_peak_nano
        case IntrusionEntry():
            record["entry"] = "intrusion"
            record["policy"] = entry.version
            record["intrusion_nano"] = entry.intrusion_nano
            record["exposed"] = entry.exposed_ms
        case CloseEntry():
            record["entry"] = "close"
            record["policy"] = entry.version
        case _:
            assert_never(entry)
    record["key"] = link.key
    record["epoch"] = link.epoch
    record["previous"] = link.previous
    return _sealed(orjson.dumps(record)[:-1])


def _sealed(body: bytes) -> Sealed:
    sealed = digest(body)
    return b'%b,"hash":"%b"}' % (body, sealed.encode()), sealed


def encode_reject(
    series: str | None, timestamp_ms: int | None, reason: Reason, topic: str, partition: int, offset: int
) -> bytes:
    """Return the bytes of a reject: it names the record and the reason, never a value or a payload."""
    return orjson.dumps(
        {
            "series": series,
            "timestamp": timestamp_ms,
            "reason": reason,
            "topic": topic,
            "partition": partition,
            "offset": offset,
        }
    )


def dump(document: object) -> bytes:
    """Return the JSON bytes of plain lists, dicts, strings, numbers and booleans."""
    return orjson.dumps(document)


def load(value: bytes) -> object:
    """Return what JSON bytes hold; raises `ValueError` for anything else."""
    return orjson.loads(value)
