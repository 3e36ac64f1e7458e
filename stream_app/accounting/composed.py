"""Composition: the loss of several series, or of several steps, together, with the theorem that it follows from."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from stream_app.accounting.law import LAWS, Law
from stream_app.accounting.temporal import CorrelatedLoss, SpentSteps
from stream_app.audit.books.guarantee import SeriesLoss
from stream_app.loss import composition
from stream_app.privacy.values import NANO


class Composed(NamedTuple):
    """One composition: over all series, or over the steps of one (`series`)."""

    name: str
    series: str | None
    epsilon: float
    asked: str = ""  # the parameter that the theorem was applied with
    largest: str | None = None  # the series or member whose loss it is, where one stands for all

    @property
    def law(self) -> Law:
        """The theorem that gives it, and where that holds."""
        return LAWS[self.name]

    def document(self) -> dict[str, object]:
        """Return it as the `--json` report has it."""
        return {**self._asdict(), **self.law._asdict()}


def over_series(name: str, losses: Iterable[SeriesLoss], member_of: Mapping[str, str]) -> Composed:
    """Compose the losses of all series by the theorem `name` of `OVER_SERIES`.

    Raises:
        composition.CompositionError: for a series without a member.
    """
    totals = {loss.series: loss.total_nano / NANO for loss in losses}
    match name:
        case "sequential":
            return Composed(name, None, composition.sequential(tuple(totals.values())))
        case "parallel-series":
            found = composition.parallel_series(totals)
        case _:
            found = composition.parallel_members(totals, member_of)
    return Composed(name, None, found.loss, largest=found.name)


def over_steps(name: str, steps: SpentSteps, rate: float) -> Composed:
    """Compose the steps of one series by the theorem `name` of `OVER_STEPS`, any but "correlated".

    `rate` is by how much a step's weight falls with each step of age, where the theorem discounts.

    Raises:
        composition.CompositionError: for a rate below 0.
    """
    laws: dict[str, Callable[[Sequence[float]], float]] = {
        "sequential-steps": composition.sequential,
        "discounted-exponential": lambda epsilons: composition.discounted_exponentially(epsilons, rate),
        "discounted-hyperbolic": lambda epsilons: composition.discounted_hyperbolically(epsilons, rate),
    }
    asked = "" if name == "sequential-steps" else f"rate {rate:g} a step"
    return Composed(name, steps.series, laws[name](steps.epsilons), asked)


def over_window(correlated: CorrelatedLoss, window: int) -> Composed:
    """Compose the `window` steps in a row that lose most together; all steps, where there are fewer."""
    epsilons, loss = correlated.steps.epsilons, correlated.loss
    count = min(window, len(epsilons))
    before = list(accumulate(epsilons, initial=0.0))

    def together(last: int) -> float:
        if count == 1:
            return loss.total[last]
        first = last - count + 1
        return loss.backward[first] + loss.forward[last] + (before[last] - before[first + 1])

    worst = max(range(count - 1, len(epsilons)), key=together)
    epsilon = composition.correlated(loss, epsilons, worst, count)
    return Composed("correlated", correlated.steps.series, epsilon, f"{count} steps in a row")
