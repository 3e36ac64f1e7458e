"""The exact law of what an intruder sees of a step: counters at announced looks, then the release.

All values are fractions. Two-sided geometric noise ``P(k) = (1 - q) / (1 + q) * q**|k|`` with rational q represents
discrete Laplace noise of rate ``ln(1/q)``. So a ratio of likelihoods is a fraction, and a bound ``exp(epsilon)`` is
``q**-sensitivity``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product

CELLS = (0, 1)
REACH = 4
"""The largest distance of noise from 0 that is tried; beyond it ratios of geometric laws stay constant."""

Parts = tuple[int, ...]
"""For one counter: what came in up to the first look, between looks, and after the last one."""


@dataclass(frozen=True, slots=True)
class Way:
    """How counters are kept, seen with the resident key; the defaults are ours, every other way is wrong."""

    intrusion: Fraction  # q of the noise that counters start with, and take up after a look
    closing: Fraction  # q of the closing noise
    start: bool = True  # there is start noise that the intruder cannot draw
    fresh: bool = True  # an announced look adds noise
    other: bool = True  # each look adds other noise than the one before
    hidden: bool = True  # the intruder cannot draw the closing noise

    def chance(self, parts: Parts) -> Fraction:
        """Return how likely one counter grows by these parts through its noise alone."""
        *looked, last = parts
        found = Fraction(1)
        for nth, noise in enumerate(looked):
            if not (self.fresh if nth else self.start):
                found *= noise == 0
            elif nth > 1 and not self.other:
                found *= noise == looked[1]
            else:
                found *= geometric(self.intrusion, noise)
        drawn = self.fresh if looked else self.start
        if drawn and len(looked) > 1 and not self.other:
            last, drawn = last - looked[1], False  # the noise that comes again was seen
        if drawn and self.hidden:
            return found * both(self.intrusion, self.closing, last)
        if drawn or self.hidden:
            return found * geometric(self.intrusion if drawn else self.closing, last)
        return found * (last == 0)


Item = tuple[int, int]
"""A cell and a part: before the first look, between two looks, or after the last."""


def parts(items: tuple[Item, ...], cell: int, looks: int) -> Parts:
    """Return what one counter counted."""
    return tuple(items.count((cell, part)) for part in range(looks + 1))


def neighbours(items: tuple[Item, ...], looks: int) -> Iterator[tuple[Item, ...]]:
    """Yield the steps where one member's item is replaced by another, at its time or at any other."""
    for nth, other in product(range(len(items)), product(CELLS, range(looks + 1))):
        yield (*items[:nth], other, *items[nth + 1 :])


def geometric(q: Fraction, k: int) -> Fraction:
    """Return the probability of k."""
    return (1 - q) / (1 + q) * q ** abs(k)


@cache
def both(q: Fraction, other: Fraction, n: int) -> Fraction:
    """Return the probability that independent draws of two such laws add up to n."""
    n = abs(n)
    beyond = q * other / (1 - q * other) * (q**n + other**n)
    between = sum((q**k * other ** (n - k) for k in range(n + 1)), Fraction(0))
    return (1 - q) / (1 + q) * (1 - other) / (1 + other) * (beyond + between)


@cache
def ratio(way: Way, change: Parts) -> Fraction | None:
    """Return how much likelier an outcome can be than under counts higher by ``change``; None: by any factor.

    Noise is added, so only the difference of the counts matters.
    """
    largest = Fraction(1 if not any(change) else 0)
    for noise in product(range(-REACH, REACH + 1), repeat=len(change)) if any(change) else ():
        above = way.chance(noise)
        below = way.chance(tuple(at - more for at, more in zip(noise, change, strict=True)))
        if above and not below:
            return None
        if above:
            largest = max(largest, above / below)
    return largest


Addend = tuple[int, int]
"""A number, and a part."""


def worst_sum(way: Way, low: int, high: int, centre: int, members: int, looks: int) -> Fraction | None:
    """Return the largest likelihood ratio of a sum and a neighbour, if each item k counts k - ``centre``."""
    largest = Fraction(1)
    domain: tuple[Addend, ...] = tuple(product(range(low, high + 1), range(looks + 1)))

    def summed(items: tuple[Addend, ...]) -> Parts:
        return tuple(sum(k - centre for k, at in items if at == part) for part in range(looks + 1))

    for items in product(domain, repeat=members):
        for nth, other in product(range(members), domain):
            one, two = summed(items), summed((*items[:nth], other, *items[nth + 1 :]))
            found = ratio(way, tuple(more - less for less, more in zip(one, two, strict=True)))
            if found is None:
                return None
            largest = max(largest, found)
    return largest


def worst(way: Way, members: int, looks: int) -> Fraction | None:
    """Return the largest likelihood ratio of a step and a neighbour over all of them; None: there is no bound.

    Counters have independent noise, so the largest ratio overall is the product of the largest ratio of each.
    """
    largest = Fraction(1)
    for items in product(product(CELLS, range(looks + 1)), repeat=members):
        for others in neighbours(items, looks):
            both_counters = Fraction(1)
            for cell in CELLS:
                one, two = parts(items, cell, looks), parts(others, cell, looks)
                found = ratio(way, tuple(more - less for less, more in zip(one, two, strict=True)))
                if found is None:
                    return None
                both_counters *= found
            largest = max(largest, both_counters)
    return largest
