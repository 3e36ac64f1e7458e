"""Renewals: which event begins the next version, and what forbids it."""

import pytest

from stream_app.deciding.context import Context, Limits
from stream_app.deciding.outcome import ProcessedRecord
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.parameters import LARGEST_VERSION, LAST_TIMESTAMP_MS
from stream_app.privacy.policy import PolicyError, policy_of
from tests.deciding.renewal.renewing import NANO, ROOM, landmarks, parameters_of, rebuilt, renewing, versions
from tests.run import COUNTS, KEYS, Run, default, observation, policy, reason


def test_the_first_event_at_or_after_a_bound_begins_the_next_version() -> None:
    """The event is decided under the new version, with the whole epsilon and what is to come, in one decision."""
    run = Run(Context(KEYS, limits=ROOM)).feed_all([renewing(), observation("a", 0, 1), observation("a", 99, 1)])
    assert versions(run) == [(0, 1), (90, 1)]
    outcome = run.feed(observation("a", 100, 1))
    assert isinstance(outcome, ProcessedRecord)
    assert (outcome.renewal, len(outcome.entries), versions(run)[-1]) == ("begun", 2, (100, 2))
    first, second = run.entries("policy")
    assert second["parameters"] == {**first["parameters"], "protection": landmarks([150, 160]), "renew": [200, 300]}
    assert list(second) == list(first), "an ordinary entry"
    assert list(second["parameters"]) == list(first["parameters"])
    assert (second["policy"], second["budget_nano"], second["charged_nano"]) == (2, NANO, 0)
    state = run.rows["a"].state
    used = [found["epsilon_nano"] for found in run.entries("release")]
    assert state.promise.prior_nano == max(used[:2]), "what the first version used"
    assert state.guard.used_nano == used[2]
    run.feed_all(
        [observation("a", 199, 1), observation("a", 200, 1), observation("a", 310, 1), observation("a", 320, 1)]
    )
    assert versions(run)[3:] == [(190, 2), (200, 3), (310, 4), (320, 4)]
    assert "renew" not in run.entries("policy")[3]["parameters"], "nothing is to come"
    assert "landmarks" not in run.entries("policy")[2]["parameters"]["protection"]
    rebuilt(run)


def test_the_step_counts_not_the_timestamp() -> None:
    """A bound within a step takes effect at the next step: the ledger knows only steps."""
    record = policy("a", renew=[105], protection=landmarks())
    run = Run(Context(KEYS, limits=ROOM)).feed_all([record, *(observation("a", at, 1) for at in (0, 106, 119))])
    assert versions(run) == [(0, 1), (100, 1), (110, 2)]


def test_skipped_bounds_are_one() -> None:
    """Three bounds between two events begin one version, which has none of the three ahead of it."""
    run = Run(Context(KEYS, limits=ROOM)).feed_all([renewing(), observation("a", 0, 1), observation("a", 900, 1)])
    assert versions(run) == [(0, 1), (900, 2)]
    assert "renew" not in run.entries("policy")[1]["parameters"]
    rebuilt(run)


def test_a_version_that_decided_nothing_is_not_renewed() -> None:
    """Its budget is intact; a default policy with past bounds begins with the first event, once."""
    run = Run(Context(KEYS, (default("*", renew=[100, 200]),), ROOM))
    run.feed_all([observation("a", 150, 1), observation("a", 250, 1)])
    assert versions(run) == [(150, 1), (250, 2)]
    run.feed_all([policy("a", 3, renew=[260]), observation("a", 270, 1), observation("a", 280, 1)])
    assert versions(run)[2:] == [(270, 3), (280, 3)]
    rebuilt(run)


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (observation("a", 89, 1), "late"),
        (observation("a", 99, 1), "duplicate"),
        (observation("a", 120, "much"), "invalid-value"),
        (observation("a", 1000, 1), "closed"),
    ],
)
def test_a_refused_event_renews_nothing(record: dict[str, object], expected: str) -> None:
    """No entry and no row changes; the next event that is decided begins the version."""
    run = Run(Context(KEYS, limits=ROOM)).feed_all([renewing(), observation("a", 90, 1)])
    if expected == "closed":
        run.feed({"type": "close", "series": "a"})
    before, row = list(run.ledger), run.rows["a"]
    assert reason(run.feed(record)) == expected
    assert (run.ledger, run.rows["a"]) == (before, row)
    if expected != "closed":
        run.feed(observation("a", 130, 1))
        assert versions(run)[-1] == (130, 2)


def test_an_event_whose_key_is_erased_renews_nothing() -> None:
    """The keys of the bound's epoch are erased: its event is refused, and the next epoch's event renews."""
    keys = KeyRing("0123456789abcdef", 2, bytes(range(32)), epoch_ms=100)
    run = Run(Context(KeyRing("0123456789abcdef", 0, bytes(range(32)), epoch_ms=100), limits=ROOM))
    run.feed_all([renewing(), observation("a", 0, 1)])
    run.context = Context(keys, limits=ROOM)
    assert reason(run.feed(observation("a", 110, 1))) == "key-erased"
    assert run.rows["a"].policy.version == 1
    run.feed(observation("a", 210, 1))
    assert versions(run)[-1] == (210, 2)


@pytest.mark.parametrize("limits", [Limits(), Limits(lifetime_nano=2 * NANO - 1), Limits(100 * NANO, NANO - 1)])
def test_what_the_budget_does_not_allow_does_not_begin(limits: Limits) -> None:
    """The old version remains, and is checked once for each bound; the events are decided under it."""
    run = Run(Context(KEYS, limits=ROOM))
    run.feed_all([renewing(protection=landmarks()), observation("a", 0, 1)])
    run.context = Context(KEYS, limits=limits)
    outcomes = [run.feed(observation("a", at, 1)) for at in (100, 110, 290, 300, 310)]
    assert [outcome.renewal for outcome in outcomes if isinstance(outcome, ProcessedRecord)] == [
        *("refused", None, "refused", "refused", None)
    ]
    assert [version for _, version in versions(run)] == [1] * 6
    rebuilt(run)


def test_a_lifetime_is_spent_to_its_end_and_no_further() -> None:
    """A lifetime of 2.5 times the epsilon allows two versions; after them, the last one stays."""
    run = Run(Context(KEYS, limits=Limits(lifetime_nano=NANO * 5 // 2)))
    run.feed_all([renewing(protection=landmarks()), *(observation("a", at, 1) for at in range(0, 400, 50))])
    assert [version for _, version in versions(run)] == [1, 1, 2, 2, 2, 2, 2, 2]
    rebuilt(run)


def test_an_operators_version_is_above_the_last_in_the_ledger() -> None:
    """A renewal uses up its number; an operator who copies a renewal's content gets one."""
    run = Run(Context(KEYS, limits=ROOM)).feed_all([renewing(), observation("a", 0, 1), observation("a", 100, 1)])
    assert reason(run.feed(policy("a", 2, protection=landmarks([150, 160])))) == "invalid-policy"
    run.feed_all([policy("a", 3, protection=landmarks([150, 160])), observation("a", 250, 1)])
    assert versions(run)[-1] == (250, 3)
    rebuilt(run)


def test_the_highest_version_is_not_renewed() -> None:
    """No version can follow it, either in the log or by renewal."""
    run = Run(Context(KEYS, limits=ROOM))
    run.feed_all([renewing(version=LARGEST_VERSION), observation("a", 0, 1), observation("a", 100, 1)])
    assert versions(run) == [(0, LARGEST_VERSION), (100, LARGEST_VERSION)]


@pytest.mark.parametrize("level", [{"level": "event"}, {"level": "w-event", "window": 3}])
def test_levels_without_a_lifetime_have_nothing_to_renew(level: dict[str, object]) -> None:
    """Their budget is never used up permanently."""
    with pytest.raises(PolicyError, match=r"^renew: at level"):
        policy_of(parameters_of(policy("a", protection=level, renew=[1])), 1)


@pytest.mark.parametrize(
    "bounds", [[2, 1], [1, 1], [-1], [1.0], [True], list(range(1001)), [LAST_TIMESTAMP_MS + 1], "x"]
)
def test_bounds_are_ascending_timestamps(bounds: object) -> None:
    """At most 1,000 of them."""
    with pytest.raises(PolicyError, match=r"renew"):
        policy_of(parameters_of(policy("a", renew=bounds)), 1)
    assert policy_of(parameters_of(policy("a", renew=list(range(1000)))), 1).renew == tuple(range(1000))


def test_collected_series_are_not_renewed() -> None:
    """Their open steps belong to one version."""
    collect = {"neighbours": "add-remove", "open_steps": 2}
    counts = {name: part for name, part in COUNTS.items() if name != "sensitivity"}
    with pytest.raises(PolicyError, match="collected steps"):
        policy_of(parameters_of(policy("a", renew=[1], value=counts, collect=collect)), 1)
