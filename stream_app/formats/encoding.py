"""Records to bytes, pure: releases, ledger entries sealed into their series' chain, rejects.

Bytes are canonical: member order is fixed, so the same release or entry has the same hash on every machine.
"""

from hashlib import blake2b
from typing import Final, assert_never, final

import orjson

from stream_app.privacy.kinds import Kind
from stream_app.privacy.published import (
    Approximated,
    CloseEntry,
    DummiesEntry,
    IntrusionEntry,
    LandmarksEntry,
    Perturbed,
    PolicyEntry,
    Release,
    ReleaseEntry,
    Withheld,
)
from stream_app.privacy.reason import Reason

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
