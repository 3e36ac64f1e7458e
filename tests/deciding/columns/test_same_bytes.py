"""Whole logs decided in batches, together and one by one: the same bytes in order, rows and counts."""

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from stream_app.deciding.collection import Collection
from stream_app.deciding.columns.batch import BatchDecider
from stream_app.deciding.context import Context, Limits
from stream_app.deciding.decider import Decider, Headers, Outlets
from stream_app.deciding.members import Member
from stream_app.deciding.rows import SeriesRow
from stream_app.formats.records import InputRecord, Records
from stream_app.kafka.memory.rows import MemoryRows
from stream_app.kafka.owner.budgets import counted_budgets
from stream_app.kafka.owner.cache import RowReader
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.parameters import LARGEST_VERSION, LAST_TIMESTAMP_MS
from tests.run import ADAPTIVE, BALANCED, COUNTS, KINDS, NUMBER, SKIP, UNIFORM, default, observation, policy
from tests.suite.speeds import scaled

LAST = 60
"""The last moment of a log, in units of its clock."""
LEVELS: list[dict[str, Any]] = [
    {"level": "landmark", "landmarks": [4, [8, 11], [30, 33]], "step": 2},
    {"level": "landmark", "landmarks": [[2, 6]], "step": 1, "spare": 3},
    {"level": "landmark", "landmarks": [[3, 50]], "step": 1, "spare": 10**14},
    {"level": "event", "step": 2},
    {"level": "user", "length": 7, "step": 2},
    {"level": "user", "length": 10**14},
    {"level": "landmark", "landmarks": [5], "step": 3, "window": 3},
    {"level": "w-event", "window": 3},
]
LEFT_OUT: dict[str, object] = {"name": "balanced", "regular_share": 1}
SCHEMES: dict[str, list[dict[str, object]]] = {
    "landmark": [
        *(UNIFORM, ADAPTIVE, SKIP, BALANCED, LEFT_OUT),
        {"name": "adaptive", "increase": 1, "decrease": 1, "minimum": 0},
    ],
    "event": [UNIFORM, ADAPTIVE, SKIP, LEFT_OUT],
    "user": [UNIFORM, ADAPTIVE],
    "w-event": [UNIFORM],
}
VALUES: list[dict[str, object]] = [
    NUMBER,
    {"kind": "number", "lower": -5, "upper": 20, "resolution": 2.5, "sensitivity": 5, "clamp": False},
    {"kind": "number", "lower": 0, "upper": 1, "resolution": 0.25, "invalid": 0.5},
    {"kind": "number", "lower": -4e8, "upper": 4e8, "resolution": 1e-5, "sensitivity": 900},
    {"kind": "number", "lower": 0, "upper": 9.2e9, "resolution": 1, "clamp": False},
    *KINDS.values(),
]
EPSILONS = [1.0, 1.0, 0.01, 1e-9, 2.5, 2.5, 9000.0, 9000.0, 9000.1]
"""Up to what fits into 64 bits, and a little more."""
NUMBERS: st.SearchStrategy[object] = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-30, 30).map(lambda whole: whole / 8),
    st.integers(-(10**20), 10**20),
    st.sampled_from([0, 7, -0.0, 0.0005, 1.0005, 5e-324]),
)
INVALID: list[object] = ["none", None, True, [], "7"]


class Scale:
    """The length of a log's unit of time, and when the log begins."""

    def __init__(self, unit_ms: int, *, late: bool) -> None:
        self.unit_ms = unit_ms
        self.begin_ms = LAST_TIMESTAMP_MS - LAST * unit_ms if late else 0

    def time(self, moment: int) -> int:
        """Return a moment in ms."""
        return self.begin_ms + moment * self.unit_ms

    def times(self, moments: list[Any]) -> list[Any]:
        """Return moments and intervals in ms."""
        return [self.times(one) if isinstance(one, list) else self.time(one) for one in moments]

    def protection(self, level: dict[str, Any]) -> dict[str, Any]:
        """Return a protection whose moments are in units."""
        found = {**level, "step": level.get("step", 1) * self.unit_ms}
        return found | ({"landmarks": self.times(level["landmarks"])} if "landmarks" in level else {})


@st.composite
def policies(draw: st.DrawFn, scale: Scale) -> dict[str, Any]:
    """Return a policy's differences from the usual one; most have a rule."""
    odd = draw(st.integers(0, 20))
    level = draw(st.sampled_from(LEVELS[-2:] if odd == 0 else LEVELS[:-2]))
    found: dict[str, Any] = {"protection": scale.protection(level), "filter": draw(st.sampled_from(["none", "level"]))}
    found["scheme"] = draw(st.sampled_from(SCHEMES[level["level"]]))
    found["value"] = draw(st.sampled_from(VALUES[5:] if odd == 2 else VALUES[:5]))
    found["epsilon"] = draw(st.sampled_from(EPSILONS))
    if level["level"] in {"landmark", "user"} and draw(st.booleans()):
        found["renew"] = scale.times([20, 41])
    if odd == 3:
        found["correlation"] = "known nowhere"
    return found


SERIES = [f"home-{nth}" for nth in range(4)] + [f"bus-{nth}" for nth in range(3)] + ['a"\\é', "own-1", "own-2", "x"]
WARD = {"value": COUNTS, "collect": {"neighbours": "replace", "open_steps": 2}}
ODD = [b"", b"[", b"{}", b'{"series":"home-1"},{"series":"home-1"}', b'{"series":"home-1","timestamp":-1}']


@st.composite
def logs(draw: st.DrawFn, scale: Scale) -> list[dict[str, Any] | bytes]:
    """Return records of a few series: mostly observations whose time advances."""
    records: list[dict[str, Any] | bytes] = []
    now = dict.fromkeys(SERIES, 0)
    highest = draw(st.sampled_from([4, 4, LARGEST_VERSION]))
    for series in draw(st.sampled_from([[], [], ["own-1"], ["own-1", "own-2"]])):
        # A version with windows that has spent, and one of single steps after it, which waits.
        windows = {"protection": scale.protection(draw(st.sampled_from(LEVELS[-2:]))), "epsilon": 1.0}
        records.append(policy(series, highest - 3, **windows))
        records.append(observation(series, scale.time(0), draw(NUMBERS)))
        after = {"protection": {"level": "event", "step": scale.unit_ms}, "epsilon": 1.0}
        records.append(policy(series, highest - 2, **after, weaker=True))
    for _ in range(draw(st.integers(20, 80))):
        series = draw(st.sampled_from(SERIES))
        match draw(st.integers(0, 60)):  # rare ones in the middle: ends are drawn more often
            case 31:
                records.append(draw(st.sampled_from(ODD)))
            case 32:
                add = draw(st.lists(st.integers(0, LAST - 1), min_size=1, max_size=3))
                records.append({"type": "landmarks", "series": series, "add": scale.times(add)})
            case 33:
                records.append({"type": "close", "series": series})
            case 34:
                version = draw(st.integers(highest - 3, highest))
                records.append(policy(series, version, **draw(policies(scale)), weaker=True))
            case 35:
                of_collected = [
                    policy("ward", 1, **WARD),
                    {"type": "watermark", "series": "ward", "timestamp": scale.time(now["x"]), "seed": "0" * 64},
                    {"type": "contribution", "series": "ward", "timestamp": 1, "member": "m", "value": "walk"},
                ]
                records.append(draw(st.sampled_from(of_collected)))
            case 36:
                records.append(observation(series, scale.time(now[series] + 3), draw(st.sampled_from(INVALID))))
            case odd:
                by = draw(st.sampled_from([0, -1] if odd == 37 else [2, 2, 2, 1, 3, 8]))
                now[series] = min(LAST, max(0, now[series] + by))
                records.append(observation(series, scale.time(now[series]), draw(NUMBERS)))
    return records


class Way:
    """A log being decided in one of the two ways."""

    def __init__(self, *, together: bool, fewest: int, cached: int) -> None:
        self.together, self.fewest, self.cached = together, fewest, cached
        self.table = MemoryRows()
        self.reader = RowReader(self.table, 0, cached, fewest)
        self.uncommitted: dict[bytes, bytes] = {}
        self.rows: dict[str, SeriesRow] = {}
        self.members: dict[str, Member] = {}
        self.collection = Collection(bytes(32))
        self.out: dict[str, list[tuple[bytes | None, bytes, int, Headers]]] = {}
        self.taken = 0

    def outlets(self) -> Outlets:
        """Return outlets that keep the records of each topic."""

        def put(topic: str) -> Any:
            kept = self.out.setdefault(topic, [])
            return lambda key, value, time, headers: kept.append((key, value, time, headers))

        return Outlets(put("ledger"), put("releases"), put("rejects"), None)

    def begin_anew(self) -> None:
        """Forget what is in memory but not in the table, like a starting worker; counters are recalled."""
        self._commit()
        self.reader = RowReader(self.table, 0, self.cached, self.fewest)

    def decide(self, context: Context, batch: Sequence[InputRecord]) -> tuple[object, ...]:
        """Decide a batch and return all state that is known afterwards."""
        if not self.together:
            alone = Decider(context, self.rows.get, self.outlets(), self.collection, self.members.get)
            alone.decide(batch)
            self.rows |= alone.changed
            self.members |= alone.members
            links = {name: (row.sequence, row.previous) for name, row in alone.changed.items()}
            counts = alone.decisions, alone.spent, alone.used()
            return links, dict(alone.stored()), counts, alone.rejected, alone.renewals
        decider = BatchDecider(
            context, self.reader, self.outlets(), self.collection, self.members.get, self.reader.fewest
        )
        for _ in decider.decide(Records.of(batch)):
            pass
        links = {name: (sequence, link) for name, sequence, link in decider.links()}
        stored = dict(decider.stored())
        self.taken += len(decider.places)
        self.reader.take(decider.alone.changed)
        self.members |= decider.alone.members
        # As a worker does: the rows of a batch are stored while the next one is decided, at last behind it.
        self._commit()
        self.reader.hold(decider.alone.changed, decider.alone.members, self.collection.units.written())
        self.uncommitted = stored
        counts = decider.decisions, decider.spent, decider.used
        return links, stored, counts, decider.alone.rejected, decider.alone.renewals

    def _commit(self) -> None:
        self.table.write(0, self.uncommitted.items(), None)
        self.reader.let_go()


@st.composite
def contexts(draw: st.DrawFn, scale: Scale) -> list[Context]:
    """Return a context with default policies, limits and keys of epochs, and another one that may follow it."""
    separator, routed = draw(st.sampled_from([None, None, "-"])), draw(st.booleans())
    epoch_ms = draw(st.sampled_from([None, 7 * scale.unit_ms + scale.begin_ms // 3]))
    found = []
    for more in range(2):
        globs = ("home-*", "bus-*")
        defaults = (*(default(glob, **draw(policies(scale))) for glob in globs), default("*"))
        limits = Limits(
            lifetime_nano=draw(st.sampled_from([None, 10**16, 3 * 10**9])),
            max_future_ms=draw(st.sampled_from([None, None, scale.time(30)])),
            member_separator=separator,
            accept_weaker_policies=True,
        )
        keys = KeyRing("0123456789abcdef", 0, bytes(range(32)), epoch_ms).erased_before(draw(st.integers(0, more)))
        assert keys is not None
        found.append(Context(keys, defaults, limits, (lambda _: 0) if routed else None))
    return found


@given(
    data=st.data(),
    scale=st.builds(Scale, st.sampled_from([1, 1, 3_600_000]), late=st.booleans()),
    cuts=st.lists(st.integers(8, 60), min_size=1, max_size=4),
    fewest=st.sampled_from([1, 1, 2, 3]),
    cached=st.sampled_from([1, 3, 1000]),
    wrong=st.integers(0, 200),
    restart=st.sampled_from([0, 0, 1, 2]),
)
@settings(max_examples=scaled(150))
def test_together_and_one_by_one_give_the_same(
    data: st.DataObject, scale: Scale, cuts: list[int], fewest: int, cached: int, wrong: int, restart: int
) -> None:
    """Ledger, releases and rejects in order, rows, hashes and counts match for any batches and memory state."""
    context, following = data.draw(contexts(scale))
    log: list[Any] = data.draw(logs(scale))
    records = []
    for offset, document in enumerate(log):
        value = document if isinstance(document, bytes) else json.dumps(document).encode()
        series = document.get("series") if isinstance(document, dict) else None
        key = None if series is None or offset == wrong else context.key_of(str(series))
        records.append(InputRecord("events", 0, offset, offset // 2, key, value))
    one, all_ = (Way(together=together, fewest=fewest, cached=cached) for together in (False, True))
    batches = pairwise(sorted({0, len(records), *(min(cut, len(records)) for cut in cuts)}))
    for number, (start, end) in enumerate(batches, 1):
        assert one.decide(context, records[start:end]) == all_.decide(context, records[start:end])
        assert one.out == all_.out
        for name, row in one.rows.items():
            assert all_.reader.find(name) == row
        if number == restart:
            context = following
            all_.begin_anew()
        elif cached == 1000 and number < (restart or 9):
            plain = RowReader(MemoryRows(), 0, cached, 10**6)
            plain.take(one.rows)
            assert counted_budgets([plain]) == counted_budgets([all_.reader])
    event(f"some were decided together: {all_.taken > 0}")


def taken_of(context: Context, log: list[dict[str, Any]]) -> int:
    """Return how many of a log's events, none rejected, are decided together; both ways write equal bytes."""
    records = [InputRecord("events", 0, nth, 0, None, json.dumps(each).encode()) for nth, each in enumerate(log)]
    one, all_ = (Way(together=together, fewest=1, cached=1000) for together in (False, True))
    for start in range(0, len(records), 80):
        assert one.decide(context, records[start : start + 80]) == all_.decide(context, records[start : start + 80])
    assert one.out == all_.out
    assert not one.out["rejects"]
    return all_.taken


def test_vectors_go_one_by_one() -> None:
    """Among events of numbers, they give the same bytes both ways, and columns take only the numbers."""
    context = Context(
        KeyRing("0123456789abcdef", 0, bytes(range(32))),
        (default("home-*"), default("wrist-*", value=KINDS["vector"], scheme=ADAPTIVE, filter="level")),
    )
    values: dict[str, object] = {"home": 3.5, "wrist": {"pulse": 71, "oxygen": 0.97}}
    log = [observation(f"{name}-{nth}", at, values[name]) for at in range(8) for nth in range(20) for name in values]
    assert (
        taken_of(context, log) == 3 * 20
    )  # the series of numbers, in all batches but the first: there each has its first event
