"""What several releases lose together: one named function a theorem, with its domain.

Epsilons and losses are finite and at least 0; anything else raises `EpsilonError`. "Bound" says that the result is at
least the loss between any two inputs that the domain names; "estimate" that the loss may be larger. A loss of a series
holds for a change that its guarantee covers (landmarks and one other step) and says nothing of larger ones: a value
that is the same at all steps changes at all of them.
"""

from collections.abc import Mapping, Sequence
from math import exp, fsum
from typing import NamedTuple

from stream_app.loss.temporal import TemporalLoss, checked


class CompositionError(ValueError):
    """Arguments outside a theorem's domain; the message names argument, what was found, and the remedy."""


class Largest(NamedTuple):
    """The largest of several losses, and whose it is; equal ones are told by the first name in alphabetical order."""

    name: str | None  # None: there are none
    loss: float


def sequential(epsilons: Sequence[float]) -> float:
    """Return the sum of all: a bound where everything changes that each of them is for (McSherry 2009, theorem 3).

    Domain: mechanisms with independent randomness, each chosen from earlier releases and public facts alone. Of
    epsilons of all steps, all these steps may change together, however they are correlated. Of losses of series, in
    each series what its loss covers may change, and nothing else.
    """
    checked(epsilons)
    return fsum(epsilons)


def parallel_series(losses: Mapping[str, float]) -> Largest:
    """Return the largest loss of a series: a bound where one of them changes (McSherry 2009, theorem 4).

    Domain: what changes is what the loss of one series covers, and no other series changes with it. Series that change
    together add up: see `parallel_members`.
    """
    checked(tuple(losses.values()))
    return _largest(losses)


def parallel_members(losses: Mapping[str, float], member_of: Mapping[str, str]) -> Largest:
    """Return the largest sum of one member's series: a bound where one member's change (McSherry 2009, theorems 3, 4).

    Domain: what changes is, in each series of one member, what its loss covers; no other member's series changes with
    them.

    Raises:
        CompositionError: for a series without a member.
    """
    checked(tuple(losses.values()))
    sums: dict[str, list[float]] = {}
    for series, loss in losses.items():
        if series not in member_of:
            raise CompositionError(f"member_of: nothing for series {series!r}; name the member it is about")
        sums.setdefault(member_of[series], []).append(loss)
    return _largest({member: fsum(its_losses) for member, its_losses in sums.items()})


def discounted_exponentially(epsilons: Sequence[float], rate: float) -> float:
    """Return the sum of ``exp(-rate age) epsilon``, age in timestamps before the last: an estimate (Farokhi 2020).

    Domain: past releases matter less as time goes by, which is a judgement of value, not of what an adversary knows.

    Raises:
        CompositionError: for a rate below 0.
    """
    checked(epsilons)
    _check_rate(rate)
    return fsum(exp(-rate * age) * epsilon for age, epsilon in enumerate(reversed(epsilons)))


def discounted_hyperbolically(epsilons: Sequence[float], rate: float) -> float:
    """Return the sum of ``epsilon / (1 + rate age)``, age in timestamps before the last: an estimate (Farokhi 2020).

    Domain: as of `discounted_exponentially`; the past fades slower.

    Raises:
        CompositionError: for a rate below 0.
    """
    checked(epsilons)
    _check_rate(rate)
    return fsum(epsilon / (1 + rate * age) for age, epsilon in enumerate(reversed(epsilons)))


def correlated(loss: TemporalLoss, epsilons: Sequence[float], last: int, count: int) -> float:
    """Return what ``count`` timestamps in a row up to ``last`` lose together (Cao et al. 2018, theorem 4).

    A bound for a Markov adversary: the temporal loss of the one (count 1), backward loss of the first + forward loss of
    the last (count 2), and the epsilons between them besides (more).

    Domain: ``loss`` is that of ``epsilons``; indices count from 0. The adversary knows no more than the matrices that
    ``loss`` is under and everybody else's values; each epsilon is for any two values of its timestamp, as what a
    correlation hands on may be any change.

    Raises:
        CompositionError: when these are not ``count`` timestamps of the series, or ``loss`` is another series'.
    """
    first = last - count + 1
    if len(loss.total) != len(epsilons):
        raise CompositionError(
            f"epsilons: found {len(epsilons)}, losses for {len(loss.total)}; give those of the losses"
        )
    if not 0 <= first <= last < len(epsilons):
        found = f"found {count} timestamps up to {last}"
        raise CompositionError(f"last, count: {found}; there are {len(epsilons)}, counted from 0")
    if count == 1:
        return loss.total[last]
    return loss.backward[first] + loss.forward[last] + fsum(epsilons[first + 1 : last])


def _largest(losses: Mapping[str, float]) -> Largest:
    name = max(sorted(losses), key=losses.__getitem__, default=None)
    return Largest(name, 0.0 if name is None else losses[name])


def _check_rate(rate: float) -> None:
    if not 0 <= rate < float("inf"):
        raise CompositionError(f"rate: found {rate}; use a finite number of at least 0")
