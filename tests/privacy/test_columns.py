"""Computations for many series at once agree to the last bit with the functions for one series."""

from fractions import Fraction
from math import copysign, exp, floor, inf, nextafter
from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from stream_app.privacy.guard import Guard, allowed, paid
from stream_app.privacy.kinds import Number
from stream_app.privacy.kinds.axis import LARGEST_CELL
from stream_app.privacy.kinds.form import number_axis
from stream_app.privacy.landmarks import LandmarkSet
from stream_app.privacy.level import drifted, measured
from stream_app.privacy.noise.mechanisms import discrete_laplace, discrete_laplace_by
from stream_app.privacy.noise.randomness import BitStream, first_words, happens_quickly, happens_rational, keyed_hash
from stream_app.privacy.rule import LARGEST_BUDGET_NANO
from stream_app.privacy.scheme import Adaptive, Balanced, Skip, Uniform, propose, propose_user
from stream_app.privacy.values import NANO, LevelState, ReleasedCells, exact
from tests.privacy.noise.bits import SECRET, GivenBits
from tests.suite.speeds import scaled

RESOLUTIONS = [0.001, 0.1, 0.3, 0.25, 2.5, 7.0, 1e-5, 1e-15, 1e-22, 123.456, 0.0009765625, 1e13]
CELLS = st.integers(-LARGEST_CELL, LARGEST_CELL)
SPENDS = st.one_of(st.integers(1, LARGEST_BUDGET_NANO), st.sampled_from([1, 2, NANO, LARGEST_BUDGET_NANO]))


def ints(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return a column."""
    return np.array(numbers, np.int64)


@st.composite
def kinds(draw: st.DrawFn) -> Number:
    """Return a kind of numbers whose boundaries are certain, of any width."""
    resolution = exact(draw(st.sampled_from(RESOLUTIONS)))
    most = draw(st.sampled_from([1, 10, 10**4, 10**9, 10**13]))
    low = draw(st.integers(-most, most))
    lower, upper = (float(cell * resolution) for cell in (low, low + draw(st.integers(1, most))))
    axis = number_axis(exact(lower), exact(upper), resolution)
    sensitivity = draw(st.integers(1, 9 * NANO))
    assume(axis.low < axis.high and axis.boundaries is not None)
    return Number(axis, sensitivity, lower, upper, draw(st.booleans()))


@given(kinds(), st.data())
def test_boundaries_are_those_of_exact_fractions(kind: Number, data: st.DataObject) -> None:
    """At boundaries, doubles beside them, far outside and at zero, the cell is that of the decimal as written."""
    axis = kind.axis
    assert axis.boundaries is not None
    numbers = [0.0, -0.0, 5e-324, -5e-324, 1e-190, 1e308, -1e308, float(2**64 - 1), axis.double(axis.low)]
    for cell in data.draw(st.lists(st.integers(axis.low - 1, axis.high + 1), min_size=1, max_size=8)):
        edge = float(Fraction(2 * cell - 1, 2) / axis.cells_per_unit)
        numbers += [edge, nextafter(edge, inf), nextafter(edge, -inf), axis.double(cell)]
    expected = [floor(exact(number) * axis.cells_per_unit + Fraction(1, 2)) for number in numbers]
    assert axis.within(np.array(numbers)).tolist() == [axis.clamp(cell) for cell in expected]
    assert axis.within(np.array(numbers)).tolist() == [axis.within(number) for number in numbers]


@given(kinds(), st.lists(st.tuples(CELLS, CELLS, SPENDS), min_size=1, max_size=8))
def test_numbers_scales_and_stillness(kind: Number, many: list[tuple[int, int, int]]) -> None:
    """Doubles are rounded once, as with whole numbers of any size, including beside the edge of stillness."""
    beside = [
        (cell, cell + kind.sensitivity * NANO // spend + more, spend) for cell, _, spend in many for more in (0, 1)
    ]
    many += [(cell, other, spend) for cell, other, spend in beside if other <= LARGEST_CELL]
    for some in (many, [(cell % 1000, other, spend % 1000 + 1) for cell, other, spend in many]):
        columns: list[Any] = [ints(*column) for column in zip(*some, strict=True)]
        cells, others, spends = columns
        doubles = kind.axis.double(cells).tolist()
        assert doubles == [kind.axis.double(cell) for cell, _, _ in some]
        assert all(
            copysign(1, number) == (1 if cell >= 0 else -1) for number, (cell, _, _) in zip(doubles, some, strict=True)
        )
        of_columns: Any = kind
        assert of_columns.scale(spends).tolist() == [kind.scale(spend) for _, _, spend in some]
        released = [(ReleasedCells((cell,)), ReleasedCells((other,)), spend) for cell, other, spend in some]
        assert np.asarray(kind.still(ReleasedCells((cells,)), ReleasedCells((others,)), spends)).tolist() == [
            kind.still(*one) for one in released
        ]
        assert np.asarray(kind.clamp(ReleasedCells((cells,)))[0]).tolist() == [
            kind.clamp(one)[0] for one, _, _ in released
        ]


@st.composite
def guards(draw: st.DrawFn) -> tuple[int, int, int, int, bool]:
    """Return a budget, its spends by landmarks and the largest regular step, R, and whether a landmark spends."""
    budget = draw(SPENDS)
    spent = draw(st.integers(0, budget))
    left = draw(st.one_of(st.integers(0, 9), st.integers(0, 5 * 10**14)))
    return budget, spent, draw(st.integers(0, budget - spent)), left, draw(st.booleans())


@given(
    st.sampled_from([Uniform(), Adaptive(), Skip(), Balanced(), Balanced(0), Balanced(10**6)]),
    st.lists(guards(), min_size=1, max_size=8),
    st.lists(st.integers(-1, 2), min_size=8, max_size=8),
)
@settings(max_examples=scaled(150))
def test_proposals_and_spends(
    scheme: Uniform | Adaptive | Skip | Balanced, many: list[tuple[int, int, int, int, bool]], more: list[int]
) -> None:
    """They agree on proposals, the guard's answer to these and to one nano-epsilon more than there is room for."""
    budget, spent, peak, left = (ints(*column) for column in list(zip(*many, strict=True))[:4])
    landmark = np.array([one[4] for one in many])
    one_by_one = [(Guard(*one[:3]), one[3], one[4]) for one in many]
    proposed = propose(scheme, budget, spent, peak, left, landmark=landmark)
    assert proposed.tolist() == [propose(scheme, *held[:3], rest, landmark=inside) for held, rest, inside in one_by_one]
    user = propose_user(budget, spent, left).tolist()
    assert user == [propose_user(*held[:2], rest) for held, rest, _ in one_by_one]
    room = budget - spent - np.where(landmark, peak, 0)
    for spends in (proposed, room + ints(*more[: len(many)])):
        published = np.asarray(allowed(budget, spent, peak, spends, landmark=landmark))
        after_spent, after_peak = paid(spent, peak, np.where(published, spends, 0), landmark=landmark)
        for nth, (held, _, inside) in enumerate(one_by_one):
            spend = int(spends[nth])
            after = held.spend(None, 0, 0, landmark=inside, spend_nano=spend)
            assert published[nth] == (after is not None)
            assert (after or held)[1:3] == (after_spent[nth], after_peak[nth])
            assert after_spent[nth] + after_peak[nth] <= held.budget_nano


@given(
    st.integers(0, 40),
    st.lists(st.lists(st.tuples(st.integers(0, 45), st.booleans()), min_size=3, max_size=3), min_size=1, max_size=12),
)
def test_spends_are_those_that_definition_3_allows(budget_nano: int, steps: list[list[tuple[int, bool]]]) -> None:
    """Landmarks together with any other step sum to at most the budget, and what keeps to that is published."""
    landmarks, regular = [[0] for _ in range(3)], [[0] for _ in range(3)]
    budget, spent, peak = (np.full(3, figure) for figure in (budget_nano, 0, 0))
    for step in steps:
        spends, inside = ints(*(spend for spend, _ in step)), np.array([landmark for _, landmark in step])
        fits = np.asarray(allowed(budget, spent, peak, spends, landmark=inside))
        spent, peak = paid(spent, peak, np.where(fits, spends, 0), landmark=inside)
        for nth, (spend, landmark) in enumerate(step):
            own = landmarks[nth] if landmark else regular[nth]
            own.append(spend)
            assert fits[nth] == (sum(landmarks[nth]) + max(regular[nth]) <= budget_nano)
            if not fits[nth]:
                own.pop()


@given(
    st.builds(Adaptive, *[st.integers(0, NANO)] * 3),
    st.lists(st.tuples(st.integers(0, NANO), st.booleans()), min_size=1, max_size=8),
)
def test_rates(sampling: Adaptive, many: list[tuple[int, bool]]) -> None:
    """Sampling rates after publications."""
    after = sampling.next_rate(ints(*(rate for rate, _ in many)), still=np.array([still for _, still in many]))
    assert after.tolist() == [sampling.next_rate(rate, still=still) for rate, still in many]


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9)).map(lambda span: (span[0], sum(span))), max_size=6),
    st.sampled_from([0, 2 * 10**14]),
)
def test_landmarks(spans: list[tuple[int, int]], far: int) -> None:
    """Steps are before, in, between and after the intervals, of which there may be none."""
    landmarks = LandmarkSet.of((first + far, end + far) for first, end in spans)
    steps = [far + step for step in range(60)]
    inside, left = landmarks.left(ints(*steps))
    assert np.asarray(inside).tolist() == [step in landmarks for step in steps]
    assert left.tolist() == [landmarks.count_from(step) for step in steps]
    members = {step for first, end in spans for step in range(first + far, end + far)}
    assert [step in landmarks for step in steps] == [step in members for step in steps]
    assert left.tolist() == [sum(one >= step for one in members) for step in steps]


@given(
    st.integers(1, 9 * NANO),
    st.lists(st.tuples(st.integers(0, 2**64 - 1), SPENDS, st.integers(0, 60), st.integers(-2, 2)), min_size=1),
)
def test_noise(cells: int, many: list[tuple[int, int, int, int]]) -> None:
    """Doubles are right whenever they decide, also beside the draws at which the noise changes by a cell."""
    words, spends = [0, 1, 2, 3, 2**54 - 1, 2**54 - 2, 2**64 - 1], [1, NANO, 1, NANO, 1, NANO, 5]
    for word, spend, times, beside in many:
        edge = floor(exp(-min(700.0, times * spend / (cells * NANO))) * 2**53) + beside
        words += [word, word >> 54 << 54 | max(0, min(2**53 - 1, edge)) << 1 | word & 1]
        spends += [spend, spend]
    drawn, sure = discrete_laplace_by(np.array(words, np.uint64), ints(*spends), cells * NANO)
    for word, spend, noise, decided in zip(words, spends, drawn.tolist(), sure.tolist(), strict=True):
        if decided:
            assert noise == discrete_laplace(GivenBits(word & (1 << 54) - 1), spend, cells * NANO)


@given(st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, NANO), st.integers(-9, 9)), min_size=1))
def test_coins(many: list[tuple[int, int, int]]) -> None:
    """Doubles are right whenever they decide, also beside the rate."""
    words = [word for word, _, _ in many]
    words += [max(0, min(2**64 - 1, (rate << 64) // NANO + 2**10 * by)) for _, rate, by in many]
    rates = [rate for _, rate, _ in many] * 2
    quick = happens_quickly(np.array(words, np.uint64).astype(np.float64), ints(*rates), NANO)
    happens, sure = (np.asarray(flags).tolist() for flags in quick)
    for word, rate, decision, decided in zip(words, rates, happens, sure, strict=True):
        if decided:
            assert decision == happens_rational(GivenBits(word), rate, NANO)


@given(st.binary(max_size=64), st.lists(st.binary(max_size=250), min_size=1))
def test_first_words(beginning: bytes, messages: list[bytes]) -> None:
    """The first 64 bits of streams equal those of a stream of the whole message."""
    words = first_words(keyed_hash(SECRET, b"landmark-test", beginning), messages)
    assert words.tolist() == [BitStream(SECRET, b"landmark-test", beginning + one).take(64) for one in messages]


@given(kinds(), st.lists(st.tuples(CELLS, SPENDS, st.integers(1, 90), st.booleans()), min_size=1, max_size=12))
def test_levels(kind: Number, steps: list[tuple[int, int, int, bool]]) -> None:
    """The filter's doubles, measured and drifted, agree along whole series; here three take turns with one."""
    state: LevelState = ()
    column = [np.full(3, part) for part in kind.level_begun]
    assert kind.axis.boundaries is not None
    for cell, spend, elapsed, published in steps:
        k = np.full(3, float(min(64, elapsed)))
        if published or not state:
            numbers, scales = (np.full(3, one) for one in (kind.axis.double(cell), kind.scale(spend)))
            state, estimate = measured(kind, state, ReleasedCells((cell,)), spend, elapsed)
            column, found = kind.level_after(column, numbers, scales, k)
            assert kind.axis.within(found).tolist() == [kind.axis.clamp(estimate[0])] * 3
        else:
            state, column = drifted(kind, state, elapsed), kind.level_drifted(column, k)
        assert np.stack(column, 1).tolist() == [list(state)] * 3
