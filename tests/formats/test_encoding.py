"""Bytes of outputs: chained by hash, and canonical."""

import json
from hashlib import blake2b

from stream_app.formats import encoding
from tests.deciding.test_rows import records
from tests.run import SAMPLES, Run, observation, policy


def test_entries_are_chained() -> None:
    """Each entry's hash covers its bytes before the hash, the previous entry's hash, and its release's bytes."""
    for kind, sample in SAMPLES.items():
        run = Run().feed_all(records(kind, "adaptive", sample.filters[-1]))
        previous, releases = "0" * 64, iter(run.releases)
        for sequence, value in enumerate(run.ledger, start=1):
            body, marker, rest = value.partition(b',"hash":"')
            assert marker
            entry = json.loads(value)
            assert (entry["sequence"], entry["previous"]) == (sequence, previous)
            assert rest == entry["hash"].encode() + b'"}'
            assert entry["hash"] == blake2b(body, digest_size=32).hexdigest()
            if entry["entry"] == "release":
                assert entry["release"] == blake2b(next(releases), digest_size=32).hexdigest()
            previous = entry["hash"]
        assert next(releases, None) is None


def test_a_changed_byte_breaks_the_chain() -> None:
    """Changing any byte of an entry before its hash changes the hash."""
    run = Run().feed_all([policy("a"), observation("a", 5, 1)])
    body = run.ledger[1].partition(b',"hash":"')[0]
    hashes = {encoding.digest(body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :]) for at in range(len(body))}
    assert len(hashes) == len(body)
    assert encoding.digest(body) not in hashes


def test_outputs_are_canonical() -> None:
    """Outputs have no white space, keep their members' order, and hold doubles in their shortest form."""
    run = Run().feed_all(records("location", "balanced", "level"))
    for value in (*run.releases, *run.ledger, *run.rejects):
        found = json.loads(value)
        assert json.dumps(found, separators=(",", ":"), ensure_ascii=False).encode() == value
