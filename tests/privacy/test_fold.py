"""One step after another: what is published when, and what a state remembers of it."""

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from stream_app.deciding.outcome import ProcessedRecord, RejectedRecord
from tests.run import ADAPTIVE, BALANCED, NUMBER, SKIP, UNIFORM, Run, limited, observation, policy, reason

NANO = 10**9


def releases(run: Run) -> list[dict[str, Any]]:
    """Return a run's releases."""
    return [json.loads(release) for release in run.releases]


def test_adaptive_follows_its_rate() -> None:
    """The rate after every publication is the design's, recomputed from the releases alone, and few are published."""
    protection = {"level": "landmark", "landmarks": [10**6], "step": 1}
    scheme = {"name": "adaptive", "increase": 0.4, "decrease": 0.3, "minimum": 0.05}
    run = Run()
    run.feed(policy("a", protection=protection, scheme=scheme, epsilon=20.0))
    rate, last, published = NANO, None, 0
    for step in range(300):
        run.feed(observation("a", step, 5 if step // 40 % 2 else 1))
        release = json.loads(run.releases[-1])
        if release["decision"] == "perturbed":
            published += 1
            if last is not None:
                change = abs(Fraction(str(release["measurement"])) - Fraction(str(last)))
                scale = Fraction(10 * NANO, release["epsilon_nano"])
                if scale > change:
                    rate = rate * (NANO - 300_000_000) // NANO
                else:
                    rate += (NANO - rate) * 400_000_000 // NANO
                rate = max(rate, 50_000_000)
            last = release["measurement"]
        assert run.rows["a"].state.latest.rate_nano == rate
    assert releases(run)[0]["decision"] == releases(run)[1]["decision"] == "perturbed", "rate 1 at the start"
    assert 20 < published < 280


def test_coins_fall_at_the_rate() -> None:
    """Over many series held at the same rate, the share of published events matches the rate."""
    scheme = {"name": "adaptive", "decrease": 0.75, "increase": 0.75, "minimum": 0.25}
    published = 0
    for nth in range(2000):
        run = Run()
        run.feed(policy(f"s{nth}", scheme=scheme, epsilon=0.001))
        run.feed_all(observation(f"s{nth}", step, 5) for step in range(2))
        state = run.rows[f"s{nth}"].state
        run.rows[f"s{nth}"] = replace(
            run.rows[f"s{nth}"], state=replace(state, latest=replace(state.latest, rate_nano=NANO // 4))
        )
        outcome = run.feed(observation(f"s{nth}", 2, 5))
        assert isinstance(outcome, ProcessedRecord)
        published += outcome.decision == "perturbed"
    assert abs(published - 500) < 5 * (2000 * 0.25 * 0.75) ** 0.5


def test_skip_withholds_until_something_was_released() -> None:
    """A landmark is withheld before the first release and repeats the last one after it."""
    protection = {"level": "landmark", "landmarks": [0, 1, 3], "step": 1}
    run = Run().feed_all([policy("a", protection=protection, scheme=SKIP), *(observation("a", n, 5) for n in range(5))])
    assert [release["decision"] for release in releases(run)] == [
        *("withheld", "withheld", "perturbed", "approximated", "perturbed")
    ]
    assert releases(run)[3]["source"] == 2
    assert releases(run)[3]["value"] == releases(run)[2]["value"]
    assert [entry["landmark"] for entry in run.entries()[1:]] == [True, True, False, True, False]


def test_budget_of_an_absent_landmark_goes_to_later_ones() -> None:
    """Landmarks without an event are not counted down by hand: later shares grow."""
    protection = {"level": "landmark", "landmarks": [1, 2, 3, 4], "step": 1}
    whole = Run().feed_all([policy("a", protection=protection), *(observation("a", n, 5) for n in (1, 2, 3, 4))])
    gaps = Run().feed_all([policy("a", protection=protection), *(observation("a", n, 5) for n in (1, 4))])
    assert [release["epsilon_nano"] for release in releases(whole)] == [NANO // 5, NANO // 5, NANO // 5, NANO // 5]
    assert [release["epsilon_nano"] for release in releases(gaps)] == [NANO // 5, 4 * NANO // 10]
    assert [entry["landmarks_left"] for entry in gaps.entries()[1:]] == [3, 0]


def test_user_level_ends_with_its_length() -> None:
    """All steps share the budget from the first decided one, gaps included; after `length` nothing is published."""
    protection = {"level": "user", "length": 5, "step": 10}
    run = Run().feed_all([policy("a", protection=protection), *(observation("a", ms, 5) for ms in (70, 80, 105, 120))])
    assert [release.get("epsilon_nano") for release in releases(run)] == [NANO // 5, NANO // 5, 3 * NANO // 10, None]
    assert [release["decision"] for release in releases(run)][-1] == "approximated"
    assert run.entries()[-1]["landmark_spent_nano"] == 7 * NANO // 10
    assert [entry["landmarks_left"] for entry in run.entries()[1:]] == [4, 3, 1, 0]


def test_event_level_spends_all_at_every_step() -> None:
    """Without landmarks each step may spend the whole budget."""
    run = Run().feed_all([policy("a", protection={"level": "event"}), *(observation("a", n, 5) for n in range(3))])
    assert [release["epsilon_nano"] for release in releases(run)] == [NANO] * 3


def test_spare_landmarks_keep_their_shares() -> None:
    """A step added in the future uses a spare landmark, so shares stay; without spare they shrink."""
    for spare, shares in ((2, (3, 3)), (0, (1, 2))):
        protection = {"level": "landmark", "spare": spare, "step": 1}
        run = Run().feed_all([policy("a", protection=protection), observation("a", 1, 5)])
        left = run.entries()[-1]["landmarks_left"]
        assert NANO - releases(run)[0]["epsilon_nano"] == left * (NANO // shares[0] if left else 0)
        run.feed({"type": "landmarks", "series": "a", "add": [50, 50]})
        assert run.entries()[-1]["landmarks_left"] == max(1, spare)


def test_registering_a_decided_step_charges_the_largest_regular_spend() -> None:
    """The entry states the charge; the step's own lower spend does not matter, and M stays."""
    protection = {"level": "landmark", "landmarks": [90, 91, 92, 93], "step": 1}
    run = Run().feed_all([policy("a", protection=protection, scheme=BALANCED, epsilon=4.0), observation("a", 1, 5)])
    peak = run.entries()[-1]["regular_peak_nano"]
    assert peak == 2 * NANO
    assert isinstance(run.feed({"type": "landmarks", "series": "a", "add": [0, 1]}), RejectedRecord), "3 peaks exceed 4"
    assert isinstance(run.feed({"type": "landmarks", "series": "a", "add": [1]}), ProcessedRecord)
    entry = run.entries()[-1]
    assert entry["add"] == [[1, 2]]
    assert (entry["charged_nano"], entry["landmark_spent_nano"], entry["regular_peak_nano"]) == (peak, peak, peak)
    assert isinstance(run.feed({"type": "landmarks", "series": "a", "add": [1]}), ProcessedRecord), (
        "again changes nothing"
    )
    assert run.entries()[-1]["charged_nano"] == 0


def test_a_new_period_begins_afresh() -> None:
    """It has rate 1, and nothing released or spent; steps decided earlier cannot be decided again."""
    run = Run(limited(lifetime_nano=3 * NANO))
    run.feed_all([policy("a", scheme=ADAPTIVE), *(observation("a", n, 5) for n in range(9))])
    assert run.rows["a"].state.latest.rate_nano < NANO
    run.feed(policy("a", 7, scheme=ADAPTIVE, protection={"level": "landmark", "step": 5}))
    state = run.rows["a"].state
    assert (state.latest.rate_nano, state.released, state.guard.used_nano, state.promise.prior_nano) == (
        NANO,
        False,
        0,
        NANO,
    )
    for late in (8, 9):
        assert isinstance(run.feed(observation("a", late, 5)), RejectedRecord), "9 shares its step of 5 ms with 5 .. 8"
    assert isinstance(run.feed(observation("a", 10, 5)), ProcessedRecord)


def test_a_lifetime_bounds_all_versions() -> None:
    """What earlier periods used and a new one may use never exceed the lifetime, by default the first epsilon."""
    run = Run()
    protection = {"level": "landmark", "landmarks": [50, 51, 52], "step": 1}
    run.feed_all([policy("a", protection=protection), observation("a", 1, 5)])
    used = run.entries()[-1]["regular_peak_nano"]
    assert used == NANO // 4
    assert reason(run.feed(policy("a", 2, epsilon=0.750000001, protection=protection))) == "budget-cap"
    assert isinstance(run.feed(policy("a", 2, epsilon=0.75, protection=protection)), ProcessedRecord)


@pytest.mark.parametrize("clamp", [True, False])
def test_a_value_is_the_clamped_measurement_without_filter(clamp: bool) -> None:  # noqa: FBT001
    """Without a filter, value and measurement are equal, except for clamping to the declared range."""
    value = {**NUMBER, "clamp": clamp}
    run = Run().feed_all([policy("a", value=value, protection={"level": "event"}, scheme=UNIFORM, epsilon=0.5)])
    run.feed_all(observation("a", n, 5) for n in range(50))
    outside = 0
    for release in releases(run):
        measured = release["measurement"]
        outside += not 0 <= measured <= 10
        assert release["value"] == (min(10.0, max(0.0, measured)) if clamp else measured)
    assert outside > 10
