"""Raw counts and members never leave memory: not in rows, outputs, headers, representations or errors."""

from hashlib import blake2b
from typing import Any

import orjson
import pytest

from stream_app.deciding import rows
from stream_app.deciding.collection import Collection, LostCountersError
from stream_app.deciding.context import Context, Limits
from stream_app.deciding.decider import Decider, Outlets
from stream_app.deciding.rows import SeriesRow
from stream_app.formats import wire
from stream_app.formats.records import InputRecord
from tests.collected import PAN_PRIVATE, REPLACE, collected, contribution, intrusion, watermark
from tests.run import ADAPTIVE, BALANCED, KEYS

KEY = bytes(range(32))
SEEDS = [f"{0xC0FFEE00 + nth:064x}" for nth in range(8)]
MEMBERS = [f"canary-member-{nth}" for nth in range(1237)]
"""Members whose number differs from every epsilon, offset and time here."""
UNCLAMPED = {"kind": "counts", "keys": ["walk", "ride"], "clamp": False}


def drop(*_: object) -> None:
    """Let an output go."""


def records(collect: object, scheme: object) -> list[InputRecord]:
    """Return a log of two steps of many members, one of them closed, with rejects of all sorts between."""
    log: list[dict[str, Any]] = [
        collected(collect=collect, scheme=scheme, epsilon=1e-3, value=UNCLAMPED),
        watermark(0, SEEDS[0]),
    ]
    log += [contribution(3, member, "walk") for member in MEMBERS]
    log += [contribution(13, member, "ride") for member in MEMBERS]
    log += [
        contribution(3, MEMBERS[0], "ride"),
        contribution(99, MEMBERS[1], "walk"),
        contribution(3, "late-canary", 7),
    ]
    log += [intrusion(SEEDS[1]), watermark(10, SEEDS[2]), contribution(3, MEMBERS[2], "walk"), watermark(10, SEEDS[3])]
    return [InputRecord("events", 0, nth, 0, None, orjson.dumps(record)) for nth, record in enumerate(log)]


@pytest.mark.parametrize("collect", [REPLACE, PAN_PRIVATE], ids=["bare", "pan-private"])
@pytest.mark.parametrize("scheme", [ADAPTIVE, BALANCED], ids=["adaptive", "balanced"])
def test_nothing_raw_is_written(collect: object, scheme: object) -> None:
    """Nothing that leaves the decider contains members, digests, seeds or true counts."""
    written: list[bytes] = []

    def put(key: bytes | None, value: bytes, _timestamp_ms: int, headers: list[tuple[str, bytes]]) -> None:
        written.extend((key or b"", value, *(part for _, part in headers)))

    collection = Collection(KEY)
    log = records(collect, scheme)
    decider = Decider(
        Context(KEYS, limits=Limits(lifetime_nano=10**15)), lambda _: None, Outlets(put, put, put, None), collection
    )
    decider.decide(log)
    table = dict(decider.stored())
    everything = b"\n".join(
        [*written, *table, *table.values(), repr(decider.rejected).encode(), repr(decider.decisions).encode()]
    )
    counters = collection.counted("ward-3")
    assert len(counters[1].members) == len(MEMBERS), "they are in memory"
    digests = [digest for kept in counters.values() for digest in kept.members]
    secrets = [*MEMBERS, "canary", *SEEDS, str(len(MEMBERS)), KEY.hex()]
    secrets += [form for digest in digests for form in (digest.hex(), repr(digest)[2:-1])]
    secrets += [str(cell) for kept in counters.values() for cell in kept.cells if abs(cell) > 99]
    assert [secret for secret in secrets if secret.encode() in everything] == []
    assert all(digest not in everything for digest in digests)
    assert b"walk" in everything, "the control: what is public is there"


def test_rows_grow_by_a_few_integers() -> None:
    """This holds for any contributions; rows of other series and rows stored earlier stay unchanged."""
    collection = Collection(KEY)
    found: list[dict[bytes, bytes]] = []
    log = records(PAN_PRIVATE, ADAPTIVE)
    for end in (2, 2 + len(MEMBERS)):
        decider = Decider(Context(KEYS), lambda _: None, Outlets(drop, drop, drop, None), collection)
        decider.decide(log[:end])
        found.append(dict(decider.stored()))
        collection.drop("ward-3")
    assert found[0] == found[1]
    row = rows.load(found[0].get, "ward-3", {})
    assert row is not None
    assert row.open_steps == (0, (1, 1))
    fields: Any = wire.load(found[0][b"sward-3"])
    assert fields[-2:] == [None, [0, [1, 1]]]
    closed = SeriesRow(row.series, row.key, row.sequence, row.previous, row.policy, row.default, row.state)
    assert len(wire.load(dict(rows.dump(closed, None, set()))[b"sward-3"])) == len(fields) - 2  # type: ignore[arg-type]


def test_representations_and_errors_show_nothing() -> None:
    """A traceback with any of these values reveals no member, no item and no seed."""
    shown = [repr(wire.decode(orjson.dumps(record))) for record in (
        contribution(3, "canary", "walk"), watermark(3, SEEDS[0]), intrusion(SEEDS[1]))]  # fmt: skip
    collection = Collection(KEY)
    with pytest.raises(LostCountersError) as caught:
        collection.find("ward-3", 0)
    shown.append(str(caught.value))
    shown.append(repr(collection))
    for secret in ("canary", "walk", *SEEDS, KEY.hex(), blake2b(b"canary", key=KEY).hexdigest()):
        assert not any(secret in text for text in shown)
