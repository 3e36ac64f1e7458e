"""A series as consecutive steps: every spend at its step, 0 without an event, and reasons for other series."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_app.accounting.temporal import MOST_STEPS, LeftOut, SpentSteps, steps_of
from stream_app.audit.report.curve import Curves
from tests.accounting.worked import curve_of
from tests.audit.written import LEDGERS, SECOND, seal, write

EVENT_POLICY = 'policy 1 {"epsilon": 7e-9, "scheme": {"name": "uniform"}, "level": "event"}'


def test_steps_without_event_count() -> None:
    """Steps 5 and 7 had no event; 7 is still a landmark, and 1 became one after it was decided."""
    steps = steps_of(curve_of(LEDGERS["uniform"]))
    assert isinstance(steps, SpentSteps)
    assert steps.times_ms == range(1 * SECOND, 13 * SECOND, SECOND)
    assert [round(epsilon * 1e9) for epsilon in steps.epsilons] == [16, 16, 14, 16, 0, 14, 0, 18, 18, 9, 9, 18]
    assert [place + 1 for place in steps.landmarks] == [1, 3, 6, 7, 8, 10, 11]
    assert steps.sum == pytest.approx(148e-9, rel=1e-15)


def test_landmarks_end_with_their_policy_version() -> None:
    """The first version, with landmarks 4 to 19, decided steps up to 4; the second has only landmark 7."""
    text = """
    policy 1 {"epsilon": 1e-7, "scheme": {"name": "uniform"}, "landmarks": [[4000, 20000]]}
    0 perturbed . 5 |  0 16 5
    4 perturbed L 5 |  5 15 5
    policy 2 {"epsilon": 9e-8, "scheme": {"name": "uniform"}, "landmarks": [7000]}
    6 perturbed . 45 | 0 1 45
    9 perturbed . 45 | 0 0 45
    policy 3 {"epsilon": 1e-9, "scheme": {"name": "uniform"}}
    12 perturbed . 1 | 0 0 1
    """
    steps = steps_of(curve_of(text))
    assert isinstance(steps, SpentSteps)
    assert steps.landmarks == [4, 7]


def test_at_user_level_steps_without_event_are_landmarks_too() -> None:
    """Steps 2 to 5 are the four of the length, and 4 had no event; 6 is past it, and marked by its entry."""
    steps = steps_of(curve_of(LEDGERS["user"]))
    assert isinstance(steps, SpentSteps)
    assert [place + 2 for place in steps.landmarks] == [2, 3, 4, 5, 6]


LANDMARKS = """
policy 1 {"epsilon": 1e-6, "scheme": {"name": "uniform"}, "landmarks": %s}
20 perturbed . 100 |   0 3 100
22 perturbed L 200 | 200 2 100
23 perturbed L 200 | 400 1 100
24 perturbed . 100 | 400 1 100
27 perturbed . 100 | 400 0 100
"""
"""A ledger for steps 20 to 27; its landmark 25 had no event."""
WITHIN = [[22_000, 24_000], 25_000]


@given(
    before=st.lists(st.integers(0, 19), max_size=8),
    after=st.lists(st.integers(28, 60), max_size=8),
    lengths=st.lists(st.integers(1, 20), min_size=16, max_size=16),
)
def test_landmarks_outside_of_the_decided_steps_change_nothing(
    before: list[int], after: list[int], lengths: list[int]
) -> None:
    """Landmarks before the first decided step or after the last one, none with an event, belong to no step."""
    ends = [min(start + length, 20) for start, length in zip(before, lengths, strict=False)]
    ends += [start + length for start, length in zip(after, lengths[8:], strict=False)]
    outside = [[start * SECOND, end * SECOND] for start, end in zip((*before, *after), ends, strict=True)]
    expected = steps_of(curve_of(LANDMARKS % WITHIN))
    assert isinstance(expected, SpentSteps)
    assert expected.landmarks == [2, 3, 5]
    assert steps_of(curve_of(LANDMARKS % (outside + WITHIN))) == expected


def test_an_earlier_version_that_decided_nothing_leaves_no_landmarks() -> None:
    """Its landmarks before, among and after the steps of the next version have no effect."""
    earlier = 'policy 1 {"epsilon": 1e-6, "scheme": {"name": "uniform"}, "landmarks": [[3000, 90000]]}'
    later = LANDMARKS.replace("policy 1", "policy 2") % WITHIN
    assert steps_of(curve_of(earlier + later)) == steps_of(curve_of(LANDMARKS % WITHIN))


def test_a_copy_counts_once() -> None:
    """An entry that appears twice in the ledger spends only once."""
    curves = Curves(["home-7"])
    lines = write(LEDGERS["event"]).lines()
    curves.entries([line for line in lines for _ in range(2)])
    assert steps_of(curves.curves[0]) == steps_of(curve_of(LEDGERS["event"]))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('policy 1 {"epsilon": 1e-7, "scheme": {"name": "uniform"}}', "nothing was decided"),
        (LEDGERS["adaptive"], "its policy versions have different steps,"),
        (
            f"{EVENT_POLICY}\n0 perturbed . 7 | 0 0 7\n{MOST_STEPS} perturbed . 7 | 0 0 7",
            f"it spans {MOST_STEPS + 1} steps of 1000 ms",
        ),
    ],
)
def test_what_has_no_steps_is_left_out_with_its_reason(text: str, reason: str) -> None:
    """Nothing was decided, its steps differ in length, or they are too many."""
    found = steps_of(curve_of(text))
    assert isinstance(found, LeftOut)
    assert found.reason.startswith(reason)


def test_a_policy_that_is_not_known_leaves_its_series_out() -> None:
    """Without the terms of a policy, the length of its steps is unknown."""
    written = write(LEDGERS["event"])
    written.entries[0]["parameters"]["scheme"] = {"name": "unheard-of"}
    curves = Curves(["home-7"])
    curves.entries(seal(written).lines())
    assert isinstance(steps_of(curves.curves[0]), LeftOut)
