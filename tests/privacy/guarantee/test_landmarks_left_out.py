"""Balanced with all of epsilon for the other steps: no landmark is published or affects what is published."""

from collections.abc import Iterable, Sequence
from itertools import cycle, islice
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_app.privacy.place import Place, proposal
from stream_app.privacy.policy import Policy
from stream_app.privacy.state import State
from tests.privacy.guarantee.enumeration import Rules, search
from tests.privacy.guarantee.traces import EVENTS, LATER_SPANS, MOVES, STEPWISE, Move, Version, play
from tests.run import SAMPLES, SKIP, Run, observation, policy
from tests.suite.speeds import scaled

ALL: dict[str, object] = {"name": "balanced", "regular_share": 1}
LAST = 12
LANDMARKS = [2, [5, 8]]
LEFT_OUT = {2, 5, 6, 7}
DRAWN = [
    {"method": "padding", "probability": 0.5},
    {"method": "heuristic", "utility": "proximity", "fraction": 0.25},
]


def _by_the_formula(policy: Policy, state: State, step: int, at: Place) -> Iterable[int]:
    """Propose like the program: 0 is required for a landmark and E - S for any other step (G = E, R*a = 0)."""
    proposed = proposal(policy, state, step, at)
    assert proposed == (0 if at[0] else policy.epsilon_nano - state.guard.landmark_spent_nano)
    return (proposed,)


@pytest.mark.parametrize("epsilon_nano", [1, 2, 3, 7])
def test_the_share_is_that_of_the_formula_and_the_guard_never_stops_it(epsilon_nano: int) -> None:
    """This holds over all traces of five steps, with all registrations and with landmarks held in reserve."""
    found = search(Rules(proposals=_by_the_formula), ALL, epsilon_nano, steps=5, spares=(0, 2))
    assert found.registered > 0
    assert found.not_registered > 0
    assert (found.violations, found.refusals, found.miscounts) == (0, 0, 0)


FIRST = st.builds(
    Version._replace,
    STEPWISE,
    scheme=st.just(ALL),
    level=st.just("landmark"),
    landmarks=st.lists(LATER_SPANS, min_size=1, max_size=4),
    window=st.sampled_from([1, 1, 2, 5]),
)


@settings(max_examples=scaled(60), suppress_health_check=list(HealthCheck))
@given(FIRST, st.lists(MOVES | EVENTS, min_size=5, max_size=20), st.none() | st.floats(1e-9, 4.0))
def test_no_sum_breaks_the_budget(first: Version, moves: list[Move], lifetime: float | None) -> None:
    """This holds for anything: later versions under other schemes, registrations before and after steps, gaps."""
    play((first, moves, lifetime, False))


def _values(kind: str) -> list[object]:
    return list(islice(cycle(SAMPLES[kind].values), LAST))


def _decided(scheme: dict[str, object], values: Sequence[object], kind: str, **members: object) -> Run:
    protection = {"level": "landmark", "landmarks": LANDMARKS, "step": 1}
    rules: dict[str, Any] = {"protection": protection, "scheme": scheme, "value": SAMPLES[kind].declared} | members
    run = Run().feed_all([policy("p", **rules), *(observation("p", nth, each) for nth, each in enumerate(values))])
    assert not run.rejects
    return run


@pytest.mark.parametrize("kind", SAMPLES)
def test_landmarks_are_withheld_or_repeated_at_no_cost(kind: str) -> None:
    """In one series the first landmark precedes any release; other steps each have all of epsilon."""
    run = _decided(ALL, _values(kind), kind)
    for nth, entry in enumerate(run.entries("release")):
        assert entry["landmark"] == (nth in LEFT_OUT)
        assert entry["decision"] == ("approximated" if nth in LEFT_OUT else "perturbed")
        assert entry.get("epsilon_nano", 0) == (0 if nth in LEFT_OUT else 10**9)
        assert (entry["landmark_spent_nano"], entry["regular_peak_nano"]) == (0, 10**9)
    early = _decided(
        ALL, SAMPLES[kind].values[:3], kind, protection={"level": "landmark", "landmarks": [0, 1], "step": 1}
    )
    assert [entry["decision"] for entry in early.entries("release")] == ["withheld", "withheld", "perturbed"]


@pytest.mark.parametrize("dummies", [None, *DRAWN], ids=["plain", "padding", "heuristic"])
@pytest.mark.parametrize("kind", SAMPLES)
@given(st.data())
@settings(max_examples=scaled(10))
def test_nothing_that_is_published_depends_on_a_landmark(
    kind: str, dummies: dict[str, object] | None, data: st.DataObject
) -> None:
    """Other values at the ledger's landmarks, true or drawn, change not a single byte of any topic."""
    some = st.lists(st.sampled_from(SAMPLES[kind].values), min_size=LAST, max_size=LAST)
    values, others = data.draw(some), data.draw(some)
    members = {} if dummies is None else {"dummies": {**dummies, "start": 0, "end": LAST}}
    run = _decided(ALL, values, kind, **members)
    entries = run.entries("release")
    shown = {entry["timestamp"] for entry in entries if entry["landmark"]}
    assert shown >= LEFT_OUT
    assert all((entry["decision"] == "perturbed") != entry["landmark"] for entry in entries)
    mixed = [others[nth] if nth in shown else values[nth] for nth in range(LAST)]
    assert _decided(ALL, mixed, kind, **members).outputs == run.outputs


@pytest.mark.parametrize("other", [[], [0], [1, [8, 10]]])
def test_drawn_landmarks_hide_true_ones_as_under_any_scheme(other: list[Any]) -> None:
    """If every step joins, no byte reveals which of them were meant."""
    padding = {"method": "padding", "probability": 1, "start": 0, "end": LAST - 2}
    values = _values("number")
    runs = [
        _decided(
            ALL, values, "number", dummies=padding, protection={"level": "landmark", "landmarks": marks, "step": 1}
        )
        for marks in (LANDMARKS, other)
    ]
    assert runs[0].outputs == runs[1].outputs


@pytest.mark.parametrize(("add", "reasons"), [(9, []), (4, ["refused-landmark"])])
def test_a_late_landmark(add: int, reasons: list[str]) -> None:
    """A future landmark is left out as well; a published step spent everything, so it cannot become one."""
    run = _decided(ALL, [3.25] * 5, "number")
    run.feed_all([{"type": "landmarks", "series": "p", "add": [add]}, observation("p", 9, 3.25)])
    assert run.reasons == reasons
    assert run.entries("release")[-1]["decision"] == ("perturbed" if reasons else "approximated")


def test_a_passed_landmark_before_anything_was_published_costs_nothing() -> None:
    """It is charged the largest other spend so far, which is zero."""
    run = _decided(ALL, [3.25, 3.25], "number", protection={"level": "landmark", "landmarks": [0, 1], "step": 1})
    run.feed_all([{"type": "landmarks", "series": "p", "add": [0]}, observation("p", 2, 3.25)])
    assert run.reasons == []
    assert [entry["charged_nano"] for entry in run.entries("landmarks")] == [0]
    assert run.entries("release")[-1]["epsilon_nano"] == 10**9


def test_it_spends_what_skip_spends() -> None:
    """Every entry agrees; the different filter changes no measurement."""
    values = _values("number")
    own, skip = (_decided(scheme, values, "number", filter="none") for scheme in (ALL, SKIP))
    assert own.releases == skip.releases
