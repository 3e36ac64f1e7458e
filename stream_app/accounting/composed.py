"""Composition: the joint loss of several series or steps, by theorems and under their conditions.

Epsilons and losses must be finite and at least 0; anything else raises `EpsilonError`. Each mechanism has independent
randomness and is chosen from earlier releases and public facts alone. The loss of a series holds for a change that its
guarantee covers (landmarks and one other step) and says nothing about larger changes: a value that is constant over all
steps changes at all of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from math import exp, fsum
from typing import NamedTuple

from stream_app.accounting.laws import LAWS, CompositionLaw
from stream_app.accounting.temporal import CorrelatedLoss, SpentSteps
from stream_app.audit.books.guarantee import SeriesLoss
from stream_app.loss.temporal import TemporalLoss, checked
from stream_app.words.amount import NANO


class CompositionError(ValueError):
    """A series without a person, a rate below 0, or missing timestamps; the message names the remedy."""


def sequential(epsilons: Sequence[float]) -> float:
    """Return the sum, which is a bound if everything that the epsilons cover changes (McSherry 2009, theorem 3)."""
    checked(epsilons)
    return fsum(epsilons)


def parallel_series(losses: Mapping[str, float]) -> tuple[str | None, float]:
    """Return the largest loss and its series.

    The loss is a bound if only one series changes (McSherry 2009, theorem 4).
    """
    checked(tuple(losses.values()))
    return _largest(losses)


def parallel_members(losses: Mapping[str, float], member_of: Mapping[str, str]) -> tuple[str | None, float]:
    """Return the person with the largest sum over their series, and the sum.

    The sum is a bound if only the series of one person change (McSherry, theorems 3, 4).
    """
    checked(tuple(losses.values()))
    sums: dict[str, list[float]] = {}
    for series, loss in losses.items():
        if series not in member_of:
            raise CompositionError(
                f"member_of: no entry for series {series!r}; add the person that the series belongs to"
            )
        sums.setdefault(member_of[series], []).append(loss)
    return _largest({member: fsum(its_losses) for member, its_losses in sums.items()})


def discounted_exponentially(epsilons: Sequence[float], rate: float) -> float:
    """Return the sum of ``exp(-rate age) epsilon``, an estimate (Farokhi 2020).

    An epsilon's age is the number of timestamps by which it precedes the last epsilon.
    """
    checked(epsilons)
    _check_rate(rate)
    return fsum(exp(-rate * age) * epsilon for age, epsilon in enumerate(reversed(epsilons)))


def discounted_hyperbolically(epsilons: Sequence[float], rate: float) -> float:
    """Return the sum of ``epsilon / (1 + rate age)``, an estimate (Farokhi 2020).

    An epsilon's age is the number of timestamps by which it precedes the last epsilon.
    """
    checked(epsilons)
    _check_rate(rate)
    return fsum(epsilon / (1 + rate * age) for age, epsilon in enumerate(reversed(epsilons)))


def correlated(loss: TemporalLoss, epsilons: Sequence[float], last: int, count: int) -> float:
    """Return the joint loss of ``count`` consecutive timestamps up to ``last`` (Cao et al. 2018, theorem 4).

    The result is a bound for a Markov adversary. For one timestamp it is the temporal loss; for two, the backward loss
    of the first plus the forward loss of the last; for more, the epsilons between those two are also added. ``loss`` is
    the temporal loss of ``epsilons``.
    """
    first = last - count + 1
    if len(loss.total) != len(epsilons):
        found = f"found {len(epsilons)} values, but losses for {len(loss.total)} timestamps"
        raise CompositionError(f"epsilons: {found}; use the same timestamps as the losses")
    if not 0 <= first <= last < len(epsilons):
        found = f"asked for {count} timestamps up to {last}"
        raise CompositionError(f"last, count: {found}; there are {len(epsilons)} timestamps, numbered from 0")
    if count == 1:
        return loss.total[last]
    return loss.backward[first] + loss.forward[last] + fsum(epsilons[first + 1 : last])


def _largest(losses: Mapping[str, float]) -> tuple[str | None, float]:
    """Return the name with the largest loss (the first in a tie) and that loss, or None and 0 if there are none."""
    name = max(sorted(losses), key=losses.__getitem__, default=None)
    return name, 0.0 if name is None else losses[name]


def _check_rate(rate: float) -> None:
    if not 0 <= rate < float("inf"):
        raise CompositionError(f"rate: found {rate}; use a finite number of at least 0")


class Composition(NamedTuple):
    """A composition over all series, or over the steps of one series (named by `series`)."""

    name: str
    series: str | None
    epsilon: float
    asked: str = ""  # the parameter used with the theorem
    largest: str | None = None  # the series or person with this loss, if it is a maximum

    @property
    def law(self) -> CompositionLaw:
        """The theorem that gives this result, and its condition."""
        return LAWS[self.name]

    def document(self) -> dict[str, object]:
        """Return the composition in the form used by the `--json` report."""
        return {**self._asdict(), **self.law._asdict()}


def over_series(name: str, losses: Iterable[SeriesLoss], member_of: Mapping[str, str]) -> Composition:
    """Compose the losses of all series by the theorem `name` of `OVER_SERIES`; raises `CompositionError`."""
    totals = {loss.series: loss.total_nano / NANO for loss in losses}
    match name:
        case "sequential":
            return Composition(name, None, sequential(tuple(totals.values())))
        case "parallel-series":
            whose, loss = parallel_series(totals)
        case _:
            whose, loss = parallel_members(totals, member_of)
    return Composition(name, None, loss, largest=whose)


def over_steps(name: str, steps: SpentSteps, rate: float) -> Composition:
    """Compose the steps of one series by the theorem `name` of `OVER_STEPS`, except "correlated".

    In discounting theorems, the weight of a step falls with its age at the given `rate`. Raises `CompositionError` for
    a rate below 0.
    """
    if name == "sequential-steps":
        return Composition(name, steps.series, sequential(steps.epsilons))
    discounted = discounted_exponentially if name == "discounted-exponential" else discounted_hyperbolically
    return Composition(name, steps.series, discounted(steps.epsilons, rate), f"rate {rate:g} per step")


def over_window(known: CorrelatedLoss, window: int) -> Composition:
    """Compose the `window` consecutive steps with the largest joint loss, or all steps if there are fewer."""
    epsilons, loss = known.steps.epsilons, known.loss
    count = min(window, len(epsilons))
    before = list(accumulate(epsilons, initial=0.0))

    def together(last: int) -> float:
        if count == 1:
            return loss.total[last]
        first = last - count + 1
        return loss.backward[first] + loss.forward[last] + (before[last] - before[first + 1])

    worst = max(range(count - 1, len(epsilons)), key=together)
    epsilon = correlated(loss, epsilons, worst, count)
    return Composition("correlated", known.steps.series, epsilon, f"{count} steps in a row")
