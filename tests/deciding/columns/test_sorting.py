"""Which records of a batch sorting selects to decide together, and which ones it leaves for one by one."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_app.deciding import checks
from stream_app.deciding.columns.sorting import Together, together
from stream_app.deciding.context import Context, Limits
from stream_app.formats.records import Contribution, InputRecord, Observation, Records
from stream_app.formats.wire import dump
from stream_app.kafka.memory.rows import MemoryRows
from stream_app.kafka.owner.cache import RowReader
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS
from stream_app.privacy.values import Raw
from tests.collected import contribution
from tests.run import CATEGORY, COUNTS, KEYS, LOCATION, NUMBER, VECTOR, Record, Run, default, observation, policy

HOMES = [f"home-{nth}" for nth in range(8)]
PLAIN = Context(KEYS, (default("*"),))
PLACE = {"latitude": -11.0, "longitude": -37.1}
TIMES = st.integers(0, LAST_TIMESTAMP_MS)
VALUES = st.one_of(st.none(), st.booleans(), st.text(max_size=9), st.integers(), st.floats())


@dataclass(frozen=True, slots=True)
class Quota(Limits):
    """Limits with a member that was unknown when columns were written."""

    quota: int | None = None


class Desk:
    """Series that have decided the step at 0, and batches that are sorted."""

    def __init__(self, context: Context = PLAIN, first: object = 3.0, fewest: int = 1) -> None:
        self.context, self.fewest = context, fewest
        self.reader = RowReader(MemoryRows(), 0, 10_000, fewest)
        alone = Run(Context(context.keys, context.defaults)).feed_all(observation(name, 0, first) for name in HOMES)
        self.rows = alone.rows
        self.reader.take(alone.rows)

    def sort(self, *given: Record | bytes, key: bytes | None = None) -> Together:
        """Return the selected part of a batch."""
        values = (one if isinstance(one, bytes) else dump(one) for one in given)
        records = Records.of(InputRecord("events", 0, nth, 0, key, value) for nth, value in enumerate(values))
        return together(self.context, self.reader, records, self.fewest, frozenset())

    def taken(self, *given: Record | bytes) -> list[int]:
        """Return the numbers of the selected records."""
        numbers: list[int] = self.sort(*given).at.tolist()
        return numbers


def steps(time_ms: int, value: object = 4.0) -> list[Mapping[str, object]]:
    """Return an observation of each series at one time."""
    return [observation(name, time_ms, value) for name in HOMES]


def test_what_is_taken_of_each_observation() -> None:
    """Number, place, step start, round and raw value of each are taken; NaN marks a substitute to come."""
    value = {**NUMBER, "invalid": 5}
    desk = Desk(Context(KEYS, (default("*", value=value, protection={"level": "event", "step": 10}),)))
    found = desk.sort(*steps(15), b"{", *steps(27, "seven"))
    places = [desk.reader.states.index[name] for name in HOMES]
    assert found.at.tolist() == [*range(8), *range(9, 17)]
    assert found.places.tolist() == 2 * places
    assert found.starts_ms.tolist() == 8 * [10] + 8 * [20]
    assert found.rounds.tolist() == 8 * [0] + 8 * [1]
    assert [str(number) for number in found.numbers.tolist()] == 8 * ["4.0"] + 8 * ["nan"]
    assert "4.0" not in repr(found)


@pytest.mark.parametrize("text", ["contribution", {"type": "contribution"}, ["contribution"]])
def test_no_raw_text_chooses_the_way(text: object) -> None:
    """Observations under a substitute are decided together, whatever their values, even among contributions."""
    desk = Desk(Context(KEYS, (default("*", value={**NUMBER, "invalid": 5}),), partition_of=lambda _: 0))
    given = [InputRecord("events", 0, nth, 0, HOMES[nth].encode(), dump(one)) for nth, one in enumerate(steps(1, text))]
    item = dump(contribution(1, "ada", "walk"))
    for more in (0, 30):
        records = Records.of([*given, *(InputRecord("events", 0, 8 + nth, 0, b"ward-3", item) for nth in range(more))])
        assert together(desk.context, desk.reader, records, 1, frozenset({b"ward-3"})).at.tolist() == [*range(8)]


@pytest.mark.parametrize(
    ("members", "value"),
    [
        pytest.param({"value": COUNTS}, {"walk": 1}, id="counts"),
        pytest.param({"value": CATEGORY}, "ill", id="category"),
        pytest.param({"value": LOCATION}, PLACE, id="location"),
        pytest.param({"value": VECTOR}, {"pulse": 60, "oxygen": 0.9}, id="vector"),
        pytest.param({"protection": {"level": "event", "within": "mean", "open_steps": 1}}, 3.0, id="within"),
        pytest.param({"protection": {"level": "w-event", "window": 3}}, 3.0, id="w-event"),
        pytest.param({"protection": {"level": "landmark", "window": 2}}, 3.0, id="window"),
        pytest.param({"correlation": "home"}, 3.0, id="correlation"),
        pytest.param({"epsilon": 9000.1}, 3.0, id="budget"),
        pytest.param({"filter": "level", "value": {**NUMBER, "clamp": False}}, 3.0, id="unclamped"),
        pytest.param({"value": {**NUMBER, "upper": 9e9, "resolution": 1e-5, "sensitivity": 1}}, 3.0, id="fine"),
        pytest.param({"value": {**NUMBER, "upper": 9e10, "resolution": 1e-3}}, 3.0, id="sensitive"),
    ],
)
def test_what_columns_do_not_know_is_left(members: dict[str, object], value: object) -> None:
    """Single-record decisions alone know some kinds, windows and step sums; numbers beside them are taken."""
    context = Context(KEYS, (default("home-*", **members), default("*")))
    desk = Desk(context, first=value)
    assert {row.policy.rule for row in desk.rows.values()} == {None}
    assert not desk.taken(*steps(1, value))
    others = [f"bus-{nth}" for nth in range(3)]
    desk.reader.take(Run(context).feed_all(observation(name, 0, 3.0) for name in others).rows)
    assert desk.taken(*steps(1, value), *(observation(name, 1, 3.0) for name in others)) == [8, 9, 10]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(observation(HOMES[2], 0, 4.0), id="duplicate"),
        pytest.param(observation(HOMES[2], 1, 4.0), id="duplicate within"),
        pytest.param(observation(HOMES[2], 2, "none"), id="invalid"),
        pytest.param(observation(HOMES[2], 2, value=True), id="is not a number"),
        pytest.param(observation(HOMES[2], -1, 4.0), id="malformed"),
        pytest.param({"series": HOMES[2], "timestamp": 2}, id="without a value"),
        pytest.param({"type": "close", "series": HOMES[2]}, id="close"),
        pytest.param({"type": "landmarks", "series": HOMES[2], "add": [7]}, id="landmarks"),
        pytest.param(policy(HOMES[2], 2), id="policy"),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_a_series_goes_one_way(other: Record, *, first: bool) -> None:
    """A record to be decided alone takes along all records of its series, earlier and later, and no others."""
    given = [other, *steps(1)] if first else [*steps(1), other]
    kept = [nth for nth, one in enumerate(given) if one["series"] != HOMES[2]]
    assert Desk().taken(*given) == kept


@pytest.mark.parametrize("other", [b"", b"{", b"[]", b'"home-2"', b'{"timestamp":1}', b'{"series":7,"timestamp":1}'])
def test_what_names_no_series_takes_none_along(other: bytes) -> None:
    """It is rejected by itself."""
    assert Desk().taken(other, *steps(1), other) == [*range(1, 9)]


def test_limits() -> None:
    """It leaves records too far ahead, those from a renewal bound on, and those whose epoch's key was erased."""
    ahead = Desk(Context(KEYS, PLAIN.defaults, Limits(max_future_ms=5)))
    assert ahead.taken(*steps(5)) == [*range(8)]
    assert not ahead.taken(*steps(6))
    renewed = Desk(Context(KEYS, (default("*", renew=[7]),)))
    assert renewed.taken(*steps(6)) == [*range(8)]
    assert not renewed.taken(*steps(7))
    desk = Desk(Context(KeyRing(KEYS.fingerprint, 0, KEYS.secret, 10), PLAIN.defaults))
    assert desk.taken(*steps(19)) == [*range(8)]
    erased = desk.context.keys.erased_before(2)
    assert erased is not None
    desk.context = Context(erased, PLAIN.defaults)
    assert not desk.taken(*steps(19))
    assert desk.taken(*steps(20)) == [*range(8)]


def test_keys() -> None:
    """With routed records, one under the key of another series is left, together with its series."""
    desk = Desk(Context(KEYS, PLAIN.defaults, partition_of=lambda _: 0))
    assert desk.sort(*steps(1)[2:3], key=HOMES[2].encode()).at.tolist() == [0]
    assert not len(desk.sort(*steps(1)[2:3], key=HOMES[3].encode()).at)
    member = Desk(Context(KEYS, PLAIN.defaults, Limits(member_separator="-"), partition_of=lambda _: 0))
    assert member.sort(*steps(1), key=b"home").at.tolist() == [*range(8)]
    assert not len(member.sort(*steps(1), key=b"bus").at)


def test_rounds_too_small_are_left() -> None:
    """A round with too few events is not worthwhile, and neither are the other events of its series."""
    desk = Desk(fewest=4)
    assert desk.taken(*steps(1)[:4]) == [0, 1, 2, 3]
    assert not desk.taken(*steps(1)[:3])
    assert desk.taken(*steps(1), *steps(2)[:4]) == [*range(12)]
    assert desk.taken(*steps(1), *steps(2)[:3]) == [3, 4, 5, 6, 7]
    assert not desk.taken(*steps(1)[:3], steps(1, "refused")[3]), "refused records are not among the events of a round"


def test_the_end_of_a_batch() -> None:
    """The selected records before a given record remain."""
    found = Desk().sort(b"{", *steps(1))
    assert found.before(4).at.tolist() == [1, 2, 3]
    assert found.before(9) is found


def test_each_check_says_what_it_asks_elsewhere() -> None:
    """Each one says what it asks of columns, counted contributions and recalled records, without exception."""
    assert not [check for check in checks.CHECKS if None in check]


@given(
    st.lists(st.tuples(st.text("ab-\u00e9 ", max_size=250), TIMES, TIMES, VALUES), min_size=1, max_size=8),
    st.sampled_from([Limits(), Limits(max_future_ms=5), Limits(member_separator="-", max_future_ms=10**12)]),
)
def test_each_check_says_the_same_of_one_and_of_many(sent: list[tuple[str, int, int, object]], limits: Limits) -> None:
    """For any names, times and values, what columns and counting accept is never refused one by one."""
    context, plain = replace(PLAIN, limits=limits), Desk().rows[HOMES[0]]
    names, times, appended, _ = zip(*sent, strict=True)
    many = checks.Many(names, np.array(times, np.int64), np.array(appended, np.int64))
    for check in checks.CHECKS:
        assert check.many is not None
        assert check.counted is not None
        together = np.broadcast_to(np.asarray(check.many(context, many)), len(sent)).tolist()
        for (name, time_ms, appended_ms, value), refused in zip(sent, together, strict=True):
            row, record = replace(plain, series=name, key=name.encode()), InputRecord("", 0, 0, appended_ms, None, b"")
            seen = Observation(name, time_ms, Raw(value))
            assert check.one(context, row, seen, record) is refused
            told = Contribution(name, time_ms, "m", Raw(value))
            assert check.counted(context, row) or not check.one(context, row, told, record)


def test_a_check_that_says_nothing_of_many_keeps_them_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The author of a new check states what it asks of columns; until then, all records are decided one by one."""
    desk = Desk()
    assert desk.taken(*steps(1)) == [*range(8)]
    monkeypatch.setattr(checks, "CHECKS", (*checks.CHECKS, checks.Check("malformed", lambda *_: False)))
    assert desk.taken(*steps(1)) == []


def test_a_limit_that_checks_do_not_know_keeps_all_apart() -> None:
    """This applies if the limit is set; if not, nothing changes."""
    for quota, kept in ((None, [*range(8)]), (7, [])):
        assert Desk(replace(PLAIN, limits=Quota(quota=quota))).taken(*steps(1)) == kept
    assert {one.name for one in fields(Limits)} == checks.LIMITS


def test_a_name_that_lost_its_member_is_decided_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a series began before members were configured, columns refuse its name then, as one by one does."""
    monkeypatch.setattr("tests.deciding.columns.test_sorting.HOMES", ["a-", "b-", "-c", "d-e"])
    desk = Desk()
    assert desk.taken(*(observation(name, 1, 4.0) for name in HOMES)) == [0, 1, 2, 3]
    desk.context = replace(desk.context, limits=Limits(member_separator="-"))
    assert desk.taken(*(observation(name, 1, 4.0) for name in HOMES)) == [3]
