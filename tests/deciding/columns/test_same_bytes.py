"""Whole logs decided in batches, together and one by one: the same bytes in the same order, rows and counts."""

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from stream_app.deciding.columns.batch import BatchDecider
from stream_app.deciding.context import Context, Limits
from stream_app.deciding.counters import Collection
from stream_app.deciding.decider import Decider, Headers, Outlets
from stream_app.deciding.members import Member
from stream_app.deciding.rows import SeriesRow
from stream_app.formats.records import InputRecord, Records
from stream_app.kafka.memory.rows import MemoryRows
from stream_app.kafka.owner.cache import RowReader
from stream_app.privacy.noise.key import KeyRing
from tests.run import ADAPTIVE, BALANCED, KINDS, NUMBER, SKIP, UNIFORM, default, observation, policy

LEVELS: list[dict[str, object]] = [
    {"level": "landmark", "landmarks": [4, [8, 11], [30, 33]], "step": 2},
    {"level": "landmark", "landmarks": [[2, 6]], "step": 1, "spare": 3},
    {"level": "landmark", "landmarks": [5], "step": 3, "window": 3},
    {"level": "event", "step": 2},
    {"level": "user", "length": 7, "step": 2},
    {"level": "w-event", "window": 3},
]
VALUES: list[dict[str, object]] = [
    NUMBER,
    {"kind": "number", "lower": -5, "upper": 20, "resolution": 2.5, "sensitivity": 5, "clamp": False},
    {"kind": "number", "lower": 0, "upper": 1, "resolution": 0.25, "invalid": 0.5},
    {"kind": "number", "lower": -1e9, "upper": 1e9, "resolution": 1e-5},
    *KINDS.values(),
]
NUMBERS: st.SearchStrategy[object] = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-30, 30).map(lambda whole: whole / 8),
    st.integers(-(10**20), 10**20),
    st.integers(-100, 100),
    st.sampled_from([-0.0, 0.0005, 1.0005, 5e-324, "none", None, True, [], "7"]),
)


@st.composite
def policies(draw: st.DrawFn) -> dict[str, Any]:
    """Return what of a policy differs from the usual one."""
    protection = draw(st.sampled_from(LEVELS))
    schemes = [UNIFORM] if protection["level"] == "w-event" else [UNIFORM, ADAPTIVE]
    if protection["level"] in {"landmark", "event"}:
        schemes = [*schemes, SKIP, BALANCED]
    found: dict[str, Any] = {"protection": protection, "scheme": draw(st.sampled_from(schemes))}
    found["value"] = draw(st.sampled_from(VALUES[:4] * 3 + VALUES[4:]))
    found["epsilon"] = draw(st.sampled_from([0.01, 1.0, 1.0, 5.5, 8000.0]))
    found["filter"] = draw(st.sampled_from(["none", "level"]))
    if protection["level"] in {"landmark", "user"} and draw(st.booleans()):
        found["renew"] = [20, 41]
    return found


SERIES = [f"home-{nth}" for nth in range(4)] + [f"bus-{nth}" for nth in range(3)] + ['a"\\é', "own-1", "own-2", "x"]


@st.composite
def logs(draw: st.DrawFn) -> list[dict[str, object] | bytes]:
    """Return records of a few series: most of them observations whose time goes on."""
    records: list[dict[str, object] | bytes] = []
    now = dict.fromkeys(SERIES, 0)
    for _ in range(draw(st.integers(1, 80))):
        series = draw(st.sampled_from(SERIES))
        kind = draw(st.integers(0, 30))
        if kind == 0:
            records.append(draw(st.sampled_from([b"", b"[", b"{}", b'{"series":"home-1"},{"series":"home-1"}'])))
        elif kind == 1:
            add = draw(st.lists(st.integers(0, 60), min_size=1, max_size=3))
            records.append({"type": "landmarks", "series": series, "add": add})
        elif kind == 2:
            records.append({"type": "close", "series": series})
        elif kind == 3:
            records.append(policy(series, draw(st.integers(1, 4)), **draw(policies())))
        else:
            now[series] += draw(st.sampled_from([0, 1, 2, 2, 2, 3, 8, -1]))
            records.append(observation(series, max(0, now[series]), draw(NUMBERS)))
    return records


class Way:
    """A log being decided in one of the two ways."""

    def __init__(self, context: Context, *, together: bool, fewest: int, cached: int) -> None:
        self.context, self.together = context, together
        self.table = MemoryRows()
        self.reader = RowReader(self.table, 0, cached, fewest)
        self.rows: dict[str, SeriesRow] = {}
        self.members: dict[str, Member] = {}
        self.collection = Collection(bytes(32))
        self.out: list[tuple[str, bytes | None, bytes, int, Headers]] = []
        self.taken = 0

    def outlets(self) -> Outlets:
        """Return outlets that keep what comes, with its topic."""

        def put(topic: str) -> Any:
            return lambda key, value, time, headers: self.out.append((topic, key, value, time, headers))

        return Outlets(put("ledger"), put("releases"), put("rejects"), None)

    def decide(self, batch: Sequence[InputRecord]) -> tuple[object, ...]:
        """Decide a batch and return everything that is known of it afterwards."""
        if not self.together:
            alone = Decider(self.context, self.rows.get, self.outlets(), self.collection, self.members.get)
            alone.decide(batch)
            self.rows |= alone.changed
            self.members |= alone.members
            links = {name: (row.sequence, row.previous) for name, row in alone.changed.items()}
            counts = alone.decisions, alone.spent, alone.used()
            return links, dict(alone.stored()), counts, alone.rejected, alone.renewals
        decider = BatchDecider(
            self.context, self.reader, self.outlets(), self.collection, self.members.get, self.reader.fewest
        )
        for _ in decider.decide(Records.of(batch)):
            pass
        links = {name: (sequence, link) for name, sequence, link in decider.links()}
        stored = dict(decider.stored())
        self.taken += len(decider.places)
        self.reader.take(decider.alone.changed)
        self.members |= decider.alone.members
        # As a worker does: the rows of a batch are stored while the next one is decided.
        self.reader.let_go()
        self.reader.hold(decider.alone.changed, decider.alone.members)
        self.table.write(0, stored.items(), None)
        counts = decider.decisions, decider.spent, decider.used
        return links, stored, counts, decider.alone.rejected, decider.alone.renewals


@st.composite
def contexts(draw: st.DrawFn) -> Context:
    """Return a context with default policies, limits and keys of epochs."""
    defaults = (default("home-*", **draw(policies())), default("bus-*", **draw(policies())), default("own-1"))
    limits = Limits(
        lifetime_nano=draw(st.sampled_from([None, 3 * 10**9, 10**14])),
        max_future_ms=draw(st.sampled_from([None, 30])),
        member_separator=draw(st.sampled_from([None, None, "-"])),
        accept_weaker_policies=True,
    )
    routed = draw(st.booleans())
    keys = KeyRing(
        "0123456789abcdef", draw(st.sampled_from([0, 1])), bytes(range(32)), draw(st.sampled_from([None, 7]))
    )
    return Context(keys, defaults, limits, (lambda _: 0) if routed else None)


@given(
    context=contexts(),
    log=logs(),
    cuts=st.lists(st.integers(0, 80), max_size=4),
    fewest=st.sampled_from([1, 1, 2, 3]),
    cached=st.sampled_from([1, 3, 1000]),
    wrong=st.integers(0, 200),
)
@settings(max_examples=300)
def test_together_and_one_by_one_give_the_same(
    context: Context, log: list[Any], cuts: list[int], fewest: int, cached: int, wrong: int
) -> None:
    """Ledger, releases and rejects in their order, rows, hashes, counts; whatever the batches and what is in memory."""
    records = []
    for offset, document in enumerate(log):
        value = document if isinstance(document, bytes) else json.dumps(document).encode()
        series = document.get("series") if isinstance(document, dict) else None
        key = None if series is None or offset == wrong else context.key_of(str(series))
        records.append(InputRecord("events", 0, offset, offset // 2, key, value))
    one, all_ = (Way(context, together=together, fewest=fewest, cached=cached) for together in (False, True))
    for start, end in pairwise(sorted({0, len(records), *(min(cut, len(records)) for cut in cuts)})):
        assert one.decide(records[start:end]) == all_.decide(records[start:end])
        assert one.out == all_.out
        for name, row in one.rows.items():
            assert all_.reader.find(name) == row
    event(f"some were decided together: {all_.taken > 0}")
