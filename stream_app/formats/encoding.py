"""Records to bytes, pure: releases, ledger entries sealed into their series' chain, rejects.

Bytes are canonical: member order is fixed, so the same release or entry has the same hash on every machine.
"""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final, assert_never, final

import orjson

from stream_app.privacy.fold import Stepped
from stream_app.privacy.kinds import HiddenMean, Kind, Mean, Statistic
from stream_app.privacy.published import (
    Approximated,
    CloseEntry,
    ControlEntry,
    DummiesEntry,
    IntrusionEntry,
    LandmarksEntry,
    MemberEntry,
    Perturbed,
    PolicyEntry,
    Release,
    Withheld,
)
from stream_app.privacy.reason import Reason
from stream_app.privacy.values import ReleasedCells

HASH_BYTES = 32
_EMPTY = blake2b(digest_size=HASH_BYTES)
NO_HASH = "0" * (2 * HASH_BYTES)
"""The previous hash of a chain's first entry."""


def encode_release(series: str, kind: Kind, version: int, release: Release) -> bytes:
    """Return the bytes of a release."""
    match release:
        case Perturbed():
            record: dict[str, object] = {
                "series": series,
                "timestamp": release.timestamp_ms,
                "value": kind.publish(release.estimate),
                "decision": "perturbed",
                **_measured(kind, release),
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
    if isinstance(kind, Statistic):
        record["statistic"] = kind.statistic
        if isinstance(kind, Mean) and isinstance(release, Perturbed):
            record["count"] = release.measurement[1]
    return orjson.dumps(record)


def _measured(kind: Kind, release: Perturbed) -> dict[str, object]:
    spend_nano, cells = release.spend_nano, release.measurement
    measurement = kind.parts(cells) if isinstance(kind, HiddenMean) else kind.publish(cells)
    scale = kind.scale(spend_nano, cells[1]) if isinstance(kind, Mean) else kind.scale(spend_nano)
    return {"measurement": measurement, "epsilon_nano": spend_nano, "scale": scale}


def released_cells(kind: Kind, found: Mapping[str, Any]) -> tuple[ReleasedCells, ReleasedCells]:
    """Return measurement and estimate of a perturbed release, as it was read from JSON."""
    match kind:
        case Mean():
            measurement = kind.read(found["measurement"], found["count"])
            return measurement, kind.clamp(measurement)
        case HiddenMean():
            measurement = kind.read(found["measurement"])
            return measurement, kind.clamp(measurement)
        case _:
            # What was published stays: today's filter may differ from the one that made the estimate.
            return kind.read(found["measurement"]), kind.read(found["value"])


@final
class Sealed:
    """A ledger entry in bytes, and its place in its series' chain; the next entry's ``previous`` is ``hash``, in hex.

    ``timestamp_ms`` is that of its record.
    """

    __slots__ = ("hash", "sequence", "timestamp_ms", "value")

    def __init__(self, sequence: int, timestamp_ms: int, value: bytes, sealed_hash: str) -> None:
        self.sequence: Final = sequence
        self.timestamp_ms: Final = timestamp_ms
        self.value: Final = value
        self.hash: Final = sealed_hash


def digest(value: bytes) -> str:
    """Return the BLAKE2b-256 of ``value`` in hex."""
    state = _EMPTY.copy()  # quicker than to begin anew
    state.update(value)
    return state.hexdigest()


def release_entry(series: str, sequence: int, version: int, step: Stepped, release_hash: str) -> str:
    """Return the text of a decided step's entry, as far as `sealed` takes it; ``version`` is the policy's."""
    # Put together by hand: one is made for every event, and all but the series are numbers and words of our own.
    name = orjson.dumps(series).decode()
    release = step.release
    budget, spent, peak, _ = step.state.guard
    landmark = "true" if step.landmark else "false"
    epsilon = f'"epsilon_nano":{release.spend_nano},' if isinstance(release, Perturbed) else ""
    return (
        f'{{"series":{name},"sequence":{sequence},"entry":"release","timestamp":{release.timestamp_ms},'
        f'"decision":"{step.decision}","landmark":{landmark},"policy":{version},'
        f'"budget_nano":{budget},{epsilon}"landmark_spent_nano":{spent},'
        f'"landmarks_left":{step.landmarks_left},"regular_peak_nano":{peak},'
        f'"release":"{release_hash}"'
    )


def control_entry(series: str, sequence: int, entry: ControlEntry) -> str:
    """Return the text of any other entry, as far as `sealed` takes it."""
    record: dict[str, object] = {"series": series, "sequence": sequence}
    match entry:
        case PolicyEntry():
            record["entry"] = "policy"
            record["policy"] = entry.version
            record["budget_nano"] = entry.budget_nano
            record["charged_nano"] = entry.charged_nano
            if entry.lifetime_nano is not None:
                record["lifetime_nano"] = entry.lifetime_nano
            if entry.weaker:
                record["weaker"] = True
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
        case MemberEntry():
            record["entry"] = "member"
            record["cap_nano"] = entry.cap_nano
        case _:
            assert_never(entry)
    return orjson.dumps(record)[:-1].decode()


def sealed(text: str, sequence: int, timestamp_ms: int, key: str, epoch: int, previous: str) -> Sealed:
    """Return an entry from its text: tied to the one before it, and closed by a hash of all bytes before the hash.

    ``key`` is the fingerprint of the noise key.
    """
    body = f'{text},"key":"{key}","epoch":{epoch},"previous":"{previous}"'.encode()
    found = digest(body)
    return Sealed(sequence, timestamp_ms, body + f',"hash":"{found}"}}'.encode(), found)


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
