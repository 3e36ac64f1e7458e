"""The work of each working peer: parse an event, hash it with a key, update means, dump three records.

It has no privacy. Each event produces a release, a ledger record and a row, each as long as the worker's.
`PeerStreams.java` does the same. Quix Streams runs this file in its own environment, so it needs only orjson.
"""

import hashlib
from typing import Any

from orjson import dumps, loads

KEY = b"a key of the benchmark, no secret"
FIRST_HASH = "0" * 64
ENTRY_PAD, ROW_PAD = 148, 74
"""Padding that makes values as long as the worker's for the benchmark's events."""
SMOOTHING = 0.1

_KEYED = hashlib.blake2b(key=KEY, digest_size=32)
_ENTRY_REST, _ROW_REST = "." * ENTRY_PAD, "." * ROW_PAD
Row = dict[str, Any]


def answer(value: bytes, row: Row | None) -> tuple[bytes, bytes, Row]:
    """Return an event's release, its ledger record, and its series' new row, given the last row."""
    event = loads(value)
    series, timestamp, reading = event["series"], event["timestamp"], event["value"]
    keyed = _KEYED.copy()
    keyed.update(f"{series}|{timestamp}|{reading}".encode())
    digest = keyed.hexdigest()
    if row is None:
        count, mean, smooth, last, previous = 1, reading, reading, 0, FIRST_HASH
    else:
        count, last, previous = row["count"] + 1, row["timestamp"], row["hash"]
        mean = row["mean"] + (reading - row["mean"]) / count
        smooth = row["smooth"] + SMOOTHING * (reading - row["smooth"])
    release = {"series": series, "timestamp": timestamp, "value": reading, "n": count, "hash": digest}
    entry = {
        "entry": "decision",
        "series": series,
        "sequence": count,
        "timestamp": timestamp,
        "decision": "released",
        "policy": "default-1",
        "value": reading,
        "mean": mean,
        "smooth": smooth,
        "last": last,
        "previous": previous,
        "hash": digest,
        "rest": _ENTRY_REST,
    }
    new = {"timestamp": timestamp, "count": count, "mean": mean, "smooth": smooth, "hash": digest, "rest": _ROW_REST}
    return dumps(release), dumps(entry), new
