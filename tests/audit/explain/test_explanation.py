"""Explanations: figures checked by hand, formulas that compute, and the worker's own state before a step."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from stream_app.audit.books.terms import read_terms
from stream_app.audit.explain.explanation import Explanation
from stream_app.audit.explain.inquiry import Inquiry, UndecidedError
from stream_app.audit.explain.rate import rate_of
from stream_app.audit.explain.text import text_of
from tests.audit.decided import by_series, draw
from tests.audit.written import LEDGERS, SECOND, releases_in, renumber, seal, write
from tests.collected import schedules
from tests.run import KINDS, SAMPLES, SCHEMES, UNIFORM, Run, limited, observation, policy
from tests.suite.speeds import scaled

HOUR_MS = 3_600_000


def explained(
    ledger: Sequence[bytes], timestamp: int, releases: Sequence[bytes] = (), series: str = "home-7"
) -> Explanation:
    """Return the explanation of a step."""
    inquiry = Inquiry(series, timestamp)
    inquiry.entries(ledger)
    inquiry.releases(releases)
    return inquiry.answer()


@pytest.mark.parametrize("name", LEDGERS)
def test_every_step_of_the_written_ledgers(name: str) -> None:
    """The formula gives the share, which is what a perturbed step spent, and the figures are the entry's."""
    written = write(LEDGERS[name])
    lines = written.lines()
    for index, entry in releases_in(written):
        found = explained(lines, entry["timestamp"], written.release_lines())
        assert found.entry.sequence == index + 1
        assert found.findings == ()
        assert found.landmark is entry["landmark"]
        after = found.after
        assert (after.landmark_spent_nano, after.landmarks_left, after.regular_peak_nano) == (
            entry["landmark_spent_nano"],
            entry["landmarks_left"],
            entry["regular_peak_nano"],
        )
        for formula in found.shares.formulas:
            assert eval(formula.numbers) == formula.value  # noqa: S307 - it is arithmetic, and that is the point
        if entry["decision"] == "perturbed":
            assert found.share_nano == entry["epsilon_nano"]
            assert found.scale == 10 * 10**9 / entry["epsilon_nano"]
        else:
            assert found.share_nano == 0 or found.tosses
        assert found.entry.epsilon_nano <= found.limit_nano


def test_a_landmark_in_the_head() -> None:
    """At second 8 of the Uniform ledger, one landmark was absent, so 28 of 100 are spent and 3 landmarks share."""
    found = explained(write(LEDGERS["uniform"]).lines(), 8999)
    assert found.entry.timestamp == 8000
    assert tuple(found.before) == (100, 28, 16, 3)
    first, second = found.shares.formulas
    assert (first.rule, first.value) == ("min((E - S) // (R + 1), (E - S - M) // R)", 18)
    assert first.numbers == "min((100 - 28) // (3 + 1), (100 - 28 - 16) // 3)"
    assert (second.numbers, second.value) == ("100 - 28 - 3*18", 18)
    assert (found.landmark, found.share_nano, found.limit_nano) == (True, 18, 56)
    # R=2 a=min(54//3, 38//2)=18 g=54-36, of which 36 are held for the two
    assert (found.after.left_nano, found.reserved_nano, found.next.landmark_nano, found.next.regular_nano) == (
        38,
        36,
        18,
        18,
    )


def test_a_share_under_balanced_names_its_regular_share() -> None:
    """G = 30 of 101 is below the peak of 32, so regular steps keep 32."""
    formula = explained(write(LEDGERS["balanced"]).lines(), 2000).shares.formulas[0]
    assert (formula.rule, formula.numbers) == ("max(0, E - S - max(G, M)) // R", "max(0, 101 - 0 - max(30, 32)) // 3")


def test_a_coin_cannot_be_shown_and_the_rate_needs_the_releases() -> None:
    """In Adaptive, two measurements that are equal within their noise halve the rate of 1 once.

    Without releases, the rate is unknown.
    """
    written = write(LEDGERS["adaptive"])
    alone = explained(written.lines(), 2000)
    assert (alone.tosses, alone.rate_nano) == (True, None)
    assert "cannot be shown" in alone.reason
    assert "not read" in alone.reason
    known = explained(written.lines(), 2000, written.release_lines())
    assert known.rate_nano == 500_000_000
    assert "was 0.5," in known.reason
    # A release that is not the one its entry covers counts for nothing.
    written.releases[1]["measurement"] = 10.0**7
    assert explained(written.lines(), 2000, written.release_lines()).rate_nano is None
    assert not explained(written.lines(), 1000).tosses


def test_a_later_version_counts_what_earlier_ones_lost() -> None:
    """The third version's budget is 16, and 84 of the first one's 100 are gone."""
    found = explained(write(LEDGERS["adaptive"]).lines(), 7999)
    assert (found.terms.version, found.policy.sequence, found.before.budget_nano) == (3, 6, 16)
    assert (found.entry.timestamp, found.earlier_nano) == (6000, 84)


def test_drawn_landmarks() -> None:
    """With dummies, S includes the charge from the start, and a landmark may be a dummy."""
    found = explained(write(LEDGERS["dummies"]).lines(), 1000)
    assert (found.before.landmark_spent_nano, found.document()["dummies_nano"]) == (1, 1)
    assert "1 of S was charged for drawing the landmarks (heuristic);" in text_of(found)
    assert explained(write(LEDGERS["uniform"]).lines(), 1000).document()["dummies_nano"] is None


@pytest.mark.parametrize(
    ("series", "timestamp", "sentence"),
    [
        ("home-8", 1000, "the series is not in the ledger"),
        ("home-7", 999, "the first processed step begins later, at 1000"),
        ("home-7", 7000, "the processed steps before and after it are at 6000 and 8000"),
        ("home-7", 13000, "the last processed step is at 12000; the series is closed"),
    ],
)
def test_steps_that_are_not_decided(series: str, timestamp: int, sentence: str) -> None:
    """The error says what was found instead, and carries the query."""
    with pytest.raises(UndecidedError, match=sentence) as caught:
        explained(write(LEDGERS["uniform"]).lines(), timestamp, series=series)
    assert (caught.value.series, caught.value.timestamp) == (series, timestamp)


def test_a_ledger_that_does_not_hold_says_so() -> None:
    """An inconsistent figure is a finding of the explanation, which says nothing about later entries."""
    written = write(LEDGERS["uniform"])
    written.entries[4]["epsilon_nano"] = 17
    lines = seal(written, 4).lines()
    assert explained(lines, 3000).findings == ()
    found = explained(lines, 4000)
    assert [finding.code for finding in found.findings] == ["share", "regular-peak"]
    assert "THE LEDGER HAS FAULTS" in text_of(found)


def test_a_step_under_no_policy_is_not_explained() -> None:
    """Without its policy entry, a ledger shows no share; the sentence says what is missing."""
    written = write(LEDGERS["event"])
    del written.entries[0]
    with pytest.raises(UndecidedError, match="no policy of this series comes before it"):
        explained(renumber(written).lines(), 0)


def test_copies_and_other_series_change_nothing() -> None:
    """They are like those of a batch that was written twice, and of a series whose name begins alike."""
    lines, other = write(LEDGERS["uniform"]).lines(), write(LEDGERS["user"], "home-70").lines()
    mixed = [line for pair in zip(lines, [*other, *lines], strict=False) for line in (*pair, pair[0])]
    assert explained(mixed, 4000).document() == explained(lines, 4000).document()


@pytest.mark.parametrize("kind", SAMPLES)
@pytest.mark.parametrize("scheme", ["adaptive", "balanced"])
def test_against_the_state_of_the_worker(kind: str, scheme: str) -> None:
    """Before each step the fold held exactly these figures and this rate, computed by other code."""
    run, before = _run(kind, {"name": scheme}), {}
    draws = np.random.default_rng(7)
    for hour in range(40):
        row = run.rows["home-7"]
        before[hour * HOUR_MS] = (*row.state.guard[:3], row.state.latest.rate_nano)
        run.feed(observation("home-7", hour * HOUR_MS, _value(kind, draws)))
        if hour == 20:
            run.feed({"type": "landmarks", "series": "home-7", "add": [30 * HOUR_MS]})
    rates = set()
    for timestamp, (budget, spent, peak, rate) in before.items():
        found = explained(run.ledger, timestamp, run.releases)
        assert found.findings == ()
        assert found.before[:3] == (budget, spent, peak)
        if found.tosses:
            assert found.rate_nano == (rate if found.share_nano else None)
            rates.add(rate)
        if found.entry.decision == "perturbed":
            assert found.share_nano == found.entry.epsilon_nano
    assert len(rates) >= 2 or scheme == "balanced"


def test_every_step_of_real_ledgers() -> None:
    """This holds at any level and under any scheme; see `follow_from`."""
    for history in draw(20):
        for series, written in by_series(history).items():
            for _, entry in releases_in(written):
                follow_from(entry, explained(written.lines(), entry["timestamp"], written.release_lines(), series))


PRIVATE = {"dissimilarity": "private"}


@pytest.mark.parametrize(
    ("level", "scheme"),
    [
        *(("w-event", each) for each in (UNIFORM, {"name": "bd"}, {"name": "ba"})),
        *(("w-event", {"name": name, **PRIVATE}) for name in ("bd", "ba")),
        *(("landmark", each) for each in (*SCHEMES.values(), {"name": "bd"}, {"name": "ba"})),
    ],
)
def test_every_step_in_windows(level: str, scheme: dict[str, Any]) -> None:
    """This holds with and without landmarks, and in a second version, which waits for the first one's windows."""
    run, draws = Run(), np.random.default_rng(7)
    for version, hours in ((1, range(15)), (2, range(15, 30))):
        protection: dict[str, object] = {"level": level, "window": 4, "step": HOUR_MS}
        if level == "landmark":
            protection["landmarks"] = [hour * HOUR_MS for hour in hours if hour % 6 == 4]
        epsilon = 0.5 * version
        run.context = limited(lifetime_nano=10**10)
        run.feed(policy("home-7", version, epsilon=epsilon, protection=protection, scheme=scheme))
        for hour in hours:
            run.feed(observation("home-7", hour * HOUR_MS, _value("number", draws)))
    reasons = set()
    for entry in map(json.loads, run.ledger):
        if entry["entry"] == "release":
            found = explained(run.ledger, entry["timestamp"], run.releases)
            follow_from(entry, found)
            reasons.add(found.reason.partition(".")[0].rstrip("0123456789 "))
            assert found.reach is not None
            assert found.after.landmark_spent_nano + found.after.regular_peak_nano <= found.before.budget_nano
            if entry["timestamp"] < found.opens_ms:
                assert found.limit_nano == found.share_nano == 0
    assert any(reason.startswith("Until") for reason in reasons)


@settings(max_examples=scaled(25), suppress_health_check=list(HealthCheck))
@given(schedules())
def test_every_step_of_collected_data(records: list[dict[str, Any]]) -> None:
    """For collected data, too, the rate is that of the worker's final state."""
    run = Run(limited(lifetime_nano=10**15)).feed_all(records)
    for series, row in run.rows.items():
        decided = [entry for entry in map(json.loads, run.ledger) if entry["series"] == series]
        for entry in [entry for entry in decided if entry["entry"] == "release"][-3:]:
            follow_from(entry, explained(run.ledger, entry["timestamp"], run.releases, series))
        policies = [entry for entry in decided if entry["entry"] == "policy"]
        terms = read_terms(policies[-1]["policy"], policies[-1]["parameters"])
        if not terms.tosses or terms.compares:
            continue
        published = [
            (release["measurement"], release["epsilon_nano"], release.get("count"))
            for release in map(json.loads, run.releases)
            if release["series"] == series and release["policy"] == terms.version and "measurement" in release
        ]
        assert rate_of(terms, policies[-1]["parameters"]["scheme"], published) == row.state.latest.rate_nano


def follow_from(entry: dict[str, Any], found: Explanation) -> None:
    """Check that the formulas compute, and that a perturbed step spent its share."""
    assert found.findings == ()
    for formula in found.shares.formulas:
        assert eval(formula.numbers) == formula.value  # noqa: S307 - as above
    assert found.share_nano == found.shares.formulas[0 if found.landmark else -1].value
    spent = entry.get("epsilon_nano")
    assert found.share_nano == spent if spent else found.is_tossed or found.share_nano < found.terms.least_nano
    assert found.entry.epsilon_nano <= found.limit_nano
    if found.is_tossed and not found.terms.compares:
        assert found.rate_nano is not None
    assert entry["decision"] in text_of(found)


def _run(kind: str, scheme: dict[str, Any]) -> Run:
    protection = {"level": "landmark", "landmarks": [[5 * HOUR_MS, 12 * HOUR_MS]], "step": HOUR_MS, "spare": 1}
    # Much noise against little: both make the rate move.
    return Run().feed_all([policy("home-7", epsilon=40.0, protection=protection, scheme=scheme, value=KINDS[kind])])


def _value(kind: str, draws: np.random.Generator) -> object:
    return SAMPLES[kind].values[draws.choice([0, 0, 1])]


def test_the_document_is_json() -> None:
    """Programs find every figure of the text as a member."""
    found = explained(write(LEDGERS["skip"]).lines(), 3000)
    document = json.loads(json.dumps(found.document()))
    assert document["decision"] == "approximated"
    assert (document["source"], document["epsilon_nano"], document["scale"]) == (2 * SECOND, 0, None)
    assert document["reason"] == "Skip gives landmarks nothing. The release repeats what is known from step 2000."
    assert document["share"]["proposed_nano"] == 0
