"""Renewals: which event begins the next version, what that one holds, what forbids it, and rows that know it again."""

import json
from itertools import pairwise
from typing import Any

import pytest

from stream_app.deciding import rows
from stream_app.deciding.context import Context, Limits
from stream_app.deciding.outcome import Decided, Rejected
from stream_app.deciding.rebuild import rebuild
from stream_app.kafka.client.topics import OUTPUT_BYTES
from stream_app.privacy.landmarks import MOST_INTERVALS
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.parameters import LARGEST_VERSION, LAST_TIMESTAMP_MS
from stream_app.privacy.policy import Policy, PolicyError, policy_of
from tests.run import COUNTS, KEYS, SCHEMES, Record, Run, default, observation, policy

NANO = 10**9
ROOM = Limits(lifetime_nano=100 * NANO)
DRAWN = {"method": "padding", "probability": 0.5, "start": 0, "end": 100}


def landmarks(*spans: object, **members: object) -> dict[str, object]:
    """Return the protection of level landmark."""
    return {"level": "landmark", "landmarks": list(spans), "step": 10, **members}


def renewing(series: str = "a", **members: object) -> dict[str, object]:
    """Return a policy record with bounds at 100, 200 and 300."""
    return policy(series, renew=[100, 200, 300], protection=landmarks([150, 160])) | members


def entries(run: Run, kind: str = "policy") -> list[dict[str, Any]]:
    """Return the ledger's entries of a kind."""
    return [found for entry in run.ledger if (found := json.loads(entry))["entry"] == kind]


def versions(run: Run) -> list[tuple[int, int]]:
    """Return timestamp and version of each release."""
    return [(found["timestamp"], found["policy"]) for found in map(json.loads, run.releases)]


def rebuilt(run: Run) -> Run:
    """Return the run, of which the rows are found again from ledger and releases, to the byte."""
    again = rebuild(run.context, run.ledger, run.releases)
    assert again == run.rows
    for series, row in run.rows.items():
        assert rows.dump(again[series], None, set()) == rows.dump(row, None, set())
        assert again[series].policy.fixed is row.policy.fixed
    return run


def test_the_first_event_at_or_after_a_bound_begins_the_next_version() -> None:
    """It is decided under the new version, with the whole epsilon and what is to come, in one decision."""
    run = Run(Context(KEYS, limits=ROOM)).feed_all([renewing(), observation("a", 0, 1), observation("a", 99, 1)])
    assert versions(run) == [(0, 1), (90, 1)]
    outcome = run.feed(observation("a", 100, 1))
    assert isinstance(outcome, Decided)
    assert (outcome.renewal, len(outcome.entries), versions(run)[-1]) == ("begun", 2, (100, 2))
    first, second = entries(run)
    assert second["parameters"] == {**first["parameters"], "protection": landmarks([150, 160]), "renew": [200, 300]}
    assert list(second) == list(first), "an ordinary entry"
    assert list(second["parameters"]) == list(first["parameters"])
    assert (second["policy"], second["budget_nano"], second["charged_nano"]) == (2, NANO, 0)
    state = run.rows["a"].state
    used = [found["epsilon_nano"] for found in entries(run, "release")]
    assert state.promise.prior_nano == max(used[:2]), "what the first version used"
    assert state.guard.used_nano == used[2]
    run.feed_all(
        [observation("a", 199, 1), observation("a", 200, 1), observation("a", 310, 1), observation("a", 320, 1)]
    )
    assert versions(run)[3:] == [(190, 2), (200, 3), (310, 4), (320, 4)]
    assert "renew" not in entries(run)[3]["parameters"], "nothing is to come"
    assert "landmarks" not in entries(run)[2]["parameters"]["protection"]
    rebuilt(run)


def test_the_step_counts_not_the_timestamp() -> None:
    """A bound within a step renews at the next one: the ledger knows steps alone."""
    record = policy("a", renew=[105], protection=landmarks())
    run = Run(Context(KEYS, limits=ROOM)).feed_all([record, *(observation("a", at, 1) for at in (0, 106, 119))])
    assert versions(run) == [(0, 1), (100, 1), (110, 2)]


def test_skipped_bounds_are_one() -> None:
    """Three bounds between two events begin one version, which has none of them to come."""
    run = Run(Context(KEYS, limits=ROOM)).feed_all([renewing(), observation("a", 0, 1), observation("a", 900, 1)])
    assert versions(run) == [(0, 1), (900, 2)]
    assert "renew" not in entries(run)[1]["parameters"]
    rebuilt(run)


def test_a_version_that_decided_nothing_is_not_renewed() -> None:
    """Its budget is whole; a default policy with bounds that passed begins with the first event, once."""
    run = Run(Context(KEYS, (default("*", renew=[100, 200]),), ROOM))
    run.feed_all([observation("a", 150, 1), observation("a", 250, 1)])
    assert versions(run) == [(150, 1), (250, 2)]
    run.feed_all([policy("a", 3, renew=[260]), observation("a", 270, 1), observation("a", 280, 1)])
    assert versions(run)[2:] == [(270, 3), (280, 3)]
    rebuilt(run)


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (observation("a", 89, 1), "late"),
        (observation("a", 99, 1), "duplicate"),
        (observation("a", 120, "much"), "invalid-value"),
        (observation("a", 1000, 1), "closed"),
    ],
)
def test_a_refused_event_renews_nothing(record: dict[str, object], reason: str) -> None:
    """No entry, no row changes; the next event that is decided begins the version."""
    run = Run(Context(KEYS, limits=ROOM)).feed_all([renewing(), observation("a", 90, 1)])
    if reason == "closed":
        run.feed({"type": "close", "series": "a"})
    before, row = list(run.ledger), run.rows["a"]
    outcome = run.feed(record)
    assert isinstance(outcome, Rejected)
    assert outcome.reason == reason
    assert (run.ledger, run.rows["a"]) == (before, row)
    if reason != "closed":
        run.feed(observation("a", 130, 1))
        assert versions(run)[-1] == (130, 2)


def test_an_event_whose_key_is_erased_renews_nothing() -> None:
    """The keys of the bound's epoch are gone: the event is refused, and the next epoch's one renews."""
    keys = KeyRing("0123456789abcdef", 2, bytes(range(32)), epoch_ms=100)
    run = Run(Context(KeyRing("0123456789abcdef", 0, bytes(range(32)), epoch_ms=100), limits=ROOM))
    run.feed_all([renewing(), observation("a", 0, 1)])
    run.context = Context(keys, limits=ROOM)
    outcome = run.feed(observation("a", 110, 1))
    assert isinstance(outcome, Rejected)
    assert outcome.reason == "key-erased"
    assert run.rows["a"].policy.version == 1
    run.feed(observation("a", 210, 1))
    assert versions(run)[-1] == (210, 2)


@pytest.mark.parametrize("limits", [Limits(), Limits(lifetime_nano=2 * NANO - 1), Limits(100 * NANO, NANO - 1)])
def test_what_the_budget_does_not_allow_does_not_begin(limits: Limits) -> None:
    """The version stays, and is asked about once for each bound; the events are decided under it."""
    run = Run(Context(KEYS, limits=ROOM))
    run.feed_all([renewing(protection=landmarks()), observation("a", 0, 1)])
    run.context = Context(KEYS, limits=limits)
    outcomes = [run.feed(observation("a", at, 1)) for at in (100, 110, 290, 300, 310)]
    assert [outcome.renewal for outcome in outcomes if isinstance(outcome, Decided)] == [
        *("refused", None, "refused", "refused", None)
    ]
    assert [version for _, version in versions(run)] == [1] * 6
    rebuilt(run)


def test_a_lifetime_is_spent_to_its_end_and_no_further() -> None:
    """Two and a half times the epsilon are two versions: after them the last one stays."""
    run = Run(Context(KEYS, limits=Limits(lifetime_nano=NANO * 5 // 2)))
    run.feed_all([renewing(protection=landmarks()), *(observation("a", at, 1) for at in range(0, 400, 50))])
    assert [version for _, version in versions(run)] == [1, 1, 2, 2, 2, 2, 2, 2]
    rebuilt(run)


def test_late_landmarks_stay_and_spare_is_whole_again() -> None:
    """What was registered and is to come stands in the renewed version, beside the spare of the record."""
    run = Run(Context(KEYS, limits=ROOM))
    run.feed_all(
        [
            renewing(protection=landmarks([50, 150], [170, 200], spare=2)),
            observation("a", 0, 1),
            {"type": "landmarks", "series": "a", "add": [[140, 150], 210]},
            observation("a", 80, 1),
            observation("a", 120, 1),
        ]
    )
    protection = entries(run)[1]["parameters"]["protection"]
    assert protection == landmarks([90, 150], [170, 200], [210, 220], spare=2)
    assert entries(run, "landmarks")[0]["landmarks_left"] == 15
    assert entries(run, "release")[2]["landmarks_left"] == 2 + 3 + 1 + 2
    refused = run.feed({"type": "landmarks", "series": "a", "add": [80]})
    assert isinstance(refused, Rejected)
    assert refused.reason == "refused-landmark", "a step of the version before"
    run.feed({"type": "landmarks", "series": "a", "add": [90]})
    assert len(entries(run, "landmarks")) == 2
    rebuilt(run)


def test_drawn_landmarks_stay_fixed() -> None:
    """Nothing is drawn or charged again, and none may be added: rows from the ledger know it."""
    run = Run(Context(KEYS, limits=ROOM))
    drawing = policy("a", renew=[30, 60], protection={"level": "landmark", "landmarks": [20, [50, 55]]}, dummies=DRAWN)
    run.feed_all([drawing, *(observation("a", at, 1) for at in range(0, 70, 7))])
    first, second, third = (entry["parameters"] for entry in entries(run))
    drawn = {step for start, end in first["protection"]["landmarks"] for step in range(start, end)}
    for parameters, start in ((second, 29), (third, 57)):
        kept = {step for start, end in parameters["protection"]["landmarks"] for step in range(start, end)}
        assert kept == {step for step in drawn if step >= start}
    assert len(entries(run, "dummies")) == 1
    assert run.rows["a"].policy.fixed
    refused = run.feed({"type": "landmarks", "series": "a", "add": [99]})
    assert isinstance(refused, Rejected)
    assert refused.reason == "refused-landmark"
    rebuilt(run)


def test_an_operators_version_is_above_the_last_in_the_ledger() -> None:
    """A renewal uses up its number; who copies what a renewal would hold gets one."""
    run = Run(Context(KEYS, limits=ROOM)).feed_all([renewing(), observation("a", 0, 1), observation("a", 100, 1)])
    refused = run.feed(policy("a", 2, protection=landmarks([150, 160])))
    assert isinstance(refused, Rejected)
    assert refused.reason == "invalid-policy"
    run.feed_all([policy("a", 3, protection=landmarks([150, 160])), observation("a", 250, 1)])
    assert versions(run)[-1] == (250, 3)
    rebuilt(run)


def test_the_highest_version_is_not_renewed() -> None:
    """None can follow it, in the log or by renewal."""
    run = Run(Context(KEYS, limits=ROOM))
    run.feed_all([renewing(version=LARGEST_VERSION), observation("a", 0, 1), observation("a", 100, 1)])
    assert versions(run) == [(0, LARGEST_VERSION), (100, LARGEST_VERSION)]


def test_a_copy_of_a_renewal_keeps_drawn_landmarks_fixed() -> None:
    """Rows from the ledger cannot tell it from a renewal, so it is one: nothing may be added."""
    run = Run(Context(KEYS, limits=ROOM))
    drawing = policy("a", renew=[30], protection={"level": "landmark", "landmarks": [20]}, dummies=DRAWN)
    run.feed_all([drawing, observation("a", 0, 1)])
    parameters = dict(entries(run)[0]["parameters"])
    to_come = [[max(1, start), end] for start, end in parameters["protection"]["landmarks"] if end > 1]
    parameters["protection"] = {**parameters["protection"], "landmarks": to_come}
    del parameters["renew"]
    assert isinstance(run.feed({"type": "policy", "series": "a", "version": 2, **parameters}), Decided)
    assert run.rows["a"].policy.fixed
    rebuilt(run)


def test_a_default_policy_that_renews_stays_shared() -> None:
    """All series that renew at a bound have one policy, in memory and in the table; a late landmark parts one."""
    run = Run(Context(KEYS, (default("*", renew=[100, 200], protection=landmarks([50, 60], [150, 190])),), ROOM))
    names = [f"s{number}" for number in range(50)]
    for start in (0, 100, 200):
        run.feed_all(observation(name, start + number % 3 * 10, 1) for number, name in enumerate(names))
    shared: set[str] = set()
    pairs = [pair for row in run.rows.values() for pair in rows.dump(row, None, shared)]
    assert [key for key, _ in pairs if not key.startswith(b"s")] == [b"d" + name.encode() for name in shared]
    assert len(shared) == 1
    first = run.context.defaults[0].digest
    assert {rows.first_default(name) for name in shared} == {first}
    assert len({id(row.policy) for row in run.rows.values()}) == 1
    table: dict[bytes, bytes] = dict(pairs)
    found: dict[str, Policy] = {}
    for name in names:
        assert rows.load(table.get, name, found) == run.rows[name]
    rebuilt(run)
    run.feed({"type": "landmarks", "series": "s7", "add": [500]})
    assert not run.rows["s7"].default
    rebuilt(run)


def test_rows_that_are_read_back_renew_alike() -> None:
    """Each record decided from rows in bytes gives the bytes of a run that keeps its rows, under any policy."""
    for given in (renewing("s"), renewing("s", protection={"level": "user", "length": 20, "step": 10})):
        contexts = [Context(KEYS, limits=ROOM), Context(KEYS, (default("*", **_parameters(given)),), ROOM)]
        for context in contexts:
            records = [*([] if context.defaults else [given]), *(observation("s", at, at) for at in range(0, 400, 30))]
            kept = Run(context).feed_all(records)
            stored = Run(context)
            table: dict[bytes, bytes] = {}
            for record in records:
                before = rows.load(table.get, "s", {})
                stored.rows = {} if before is None else {"s": before}
                stored.feed(record)
                table.update(rows.dump(stored.rows["s"], before, set()))
            assert stored.outputs == kept.outputs


def _parameters(record: dict[str, object]) -> dict[str, object]:
    return {name: part for name, part in record.items() if name not in {"type", "series", "version"}}


def test_a_renewed_version_waits_for_the_window_of_the_former() -> None:
    """No three steps in a row hold spends of two versions, landmarks included: the window was promised one epsilon."""
    given = policy("a", renew=[100, 200], protection=landmarks([100, 110], window=3))
    run = Run(Context(KEYS, limits=ROOM)).feed_all([given, *(observation("a", at, 1) for at in range(0, 250, 10))])
    spent = [
        (found["timestamp"], found["policy"]) for found in map(json.loads, run.releases) if "epsilon_nano" in found
    ]
    for (before, former), (after, version) in pairwise(spent):
        assert version == former or after - before >= 30
    assert {version for _, version in spent} == {1, 2, 3}
    assert [at for at, version in versions(run) if version == 2 and (at, version) not in spent] == [100, 110]
    rebuilt(run)


def test_landmarks_at_the_end_of_time_stay_readable() -> None:
    """A renewed version names the last steps as a policy may: no timestamp lies behind the last one."""
    for step in (1, 7, 1000):
        last = LAST_TIMESTAMP_MS // step * step
        given = policy("a", renew=[100], protection=landmarks([last - 3 * step, last], last, step=step))
        run = Run(Context(KEYS, limits=ROOM)).feed_all([given, observation("a", 0, 1), observation("a", 5000, 1)])
        assert run.rows["a"].policy.version == 2
        assert len(run.rows["a"].state.promise.landmarks) == 4
        assert json.loads(run.ledger[-1])["landmarks_left"] == 4
        rebuilt(run)


def test_a_renewed_row_never_outgrows_its_topic() -> None:
    """With all landmarks that there may be, as long as a timestamp can be: entry and row fit, and rows renew alike."""
    first = LAST_TIMESTAMP_MS - 200_000
    spans = [first + 2 * nth for nth in range(MOST_INTERVALS)]
    context = Context(KEYS, limits=ROOM)
    kept, stored = Run(context), Run(context)
    table: dict[bytes, bytes] = {}
    late: list[Record] = [
        {"type": "landmarks", "series": "a", "add": spans[nth : nth + 12_000]} for nth in range(0, 65_536, 12_000)
    ]
    records: list[Record] = [
        policy("a", renew=[100, 200]),
        *late[:-1],
        *(observation("a", at, 1) for at in (0, 100)),
        late[-1],
    ]
    for record in (*records, observation("a", 110, 1), observation("a", 200, 1), observation("a", 210, 1)):
        before = rows.load(table.get, "a", {})
        stored.rows = {} if before is None else {"a": before}
        assert isinstance(stored.feed(record), Decided)
        kept.feed(record)
        written = rows.dump(stored.rows["a"], before, set())
        assert all(len(value) < OUTPUT_BYTES for _, value in written)
        table.update(written)
    assert stored.outputs == kept.outputs
    assert [found["policy"] for found in entries(kept)] == [1, 2, 3]
    assert len(kept.rows["a"].state.promise.landmarks) == MOST_INTERVALS
    assert max(map(len, kept.ledger)) < OUTPUT_BYTES
    rebuilt(kept)


@pytest.mark.parametrize("level", [{"level": "event"}, {"level": "w-event", "window": 3}])
def test_levels_without_a_lifetime_have_nothing_to_renew(level: dict[str, object]) -> None:
    """Their budget is never used up for good."""
    with pytest.raises(PolicyError, match=r"^renew: at level"):
        policy_of(_parameters(policy("a", protection=level, renew=[1])), 1)


@pytest.mark.parametrize(
    "bounds", [[2, 1], [1, 1], [-1], [1.0], [True], list(range(1001)), [LAST_TIMESTAMP_MS + 1], "x"]
)
def test_bounds_are_ascending_timestamps(bounds: object) -> None:
    """At most 1,000 of them."""
    with pytest.raises(PolicyError, match=r"renew"):
        policy_of(_parameters(policy("a", renew=bounds)), 1)
    assert policy_of(_parameters(policy("a", renew=list(range(1000)))), 1).renew == tuple(range(1000))


def test_collected_series_are_not_renewed() -> None:
    """Their open steps belong to one version."""
    collect = {"neighbours": "add-remove", "open_steps": 2}
    counts = {name: part for name, part in COUNTS.items() if name != "sensitivity"}
    with pytest.raises(PolicyError, match="collected steps"):
        policy_of(_parameters(policy("a", renew=[1], value=counts, collect=collect)), 1)


@pytest.mark.parametrize("scheme", list(SCHEMES))
def test_every_scheme_begins_anew(scheme: str) -> None:
    """Each version spends as the first one did, where the same is to come; its noise is other noise."""
    given = policy("a", renew=[100, 200], protection=landmarks(spare=3), scheme=SCHEMES[scheme], filter="none")
    run = Run(Context(KEYS, limits=ROOM)).feed_all([given, *(observation("a", at, 5) for at in range(0, 300, 100))])
    found = [json.loads(release) for release in run.releases]
    assert len({release["epsilon_nano"] for release in found}) == 1
    assert all(before["measurement"] != after["measurement"] for before, after in pairwise(found))
