"""Means of measurements with standard errors and 95 % intervals, overall or by window, and unit totals.

Only measurements are averaged: estimates are biased, and repeated values are not measurements. A mean estimates the
mean of the true values, each clamped to its policy's range, at the steps that were perturbed. Releases cannot show how
well these steps represent the others.

Unit statistics give profiles by local time, shares of bins, and comparisons of two spans. Each figure is a total over
all units of several steps, divided by the number of units. Its noise is the sum of independent discrete Laplace draws
on one grid, so its interval is exact (`privacy/noise/law.py`).
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from math import inf, log, sqrt
from typing import NamedTuple, TypeVar

from stream_app.analysis.release import WEIGHED, Quantity, Release
from stream_app.privacy.kinds import HiddenMean
from stream_app.privacy.noise.law import half_of_difference, is_exact
from stream_app.privacy.noise.moments import CONFIDENCE, NORMAL, Noise, added, half_width
from stream_app.privacy.policy import Policy

Key = TypeVar("Key", bound=Hashable)


class Figure(NamedTuple):
    """An estimate, the standard deviation of its noise, its 95 % interval, and its number of measurements.

    ``units`` is the number of units by which means and shares of units are weighted, or 0 if all steps count the same.
    """

    estimate: float
    standard_error: float
    low: float
    high: float
    steps: int
    units: int = 0


class MeasuredRelease(NamedTuple):
    """A release that may have a measurement, and the public policy under which it was made, if known."""

    release: Release
    policy: Policy | None = None


def means(measured: Iterable[MeasuredRelease], by: Callable[[Release], Key]) -> dict[Key, dict[str, Figure]]:
    """Return the means by part for each group that has measurements, in the order in which groups first appear.

    The part of a single number is ""; the parts of a category are its shares. For a mean over a hidden number of
    contributors, the sums and the numbers are added up first, and then the total of the sums is divided by the total of
    the numbers. The result is under "", and the means of the sums and numbers are under "sum" and "count".
    """
    groups: dict[Key, list[MeasuredRelease]] = {}
    for found in measured:
        groups.setdefault(by(found.release), []).append(found)
    figures = {key: _figures(group) for key, group in groups.items()}
    return {key: found for key, found in figures.items() if found}


def mean(measured: Iterable[MeasuredRelease]) -> dict[str, Figure]:
    """Return the means of all measurements by part, as in `means`; the result is empty if there are no measurements."""
    return means(measured, lambda _: None).get(None, {})


def figure_of(quantities: list[Quantity]) -> Figure:
    """Return the weighted mean of independent quantities (at least one)."""
    steps, whole = len(quantities), sum(quantity.weight for quantity in quantities)
    units = whole if whole > steps else 0
    if steps == 1:
        estimate, noise, *_ = quantities[0]
        return Figure(estimate, sqrt(noise.variance), estimate - noise.half, estimate + noise.half, 1, units)
    estimate = sum(quantity.number * quantity.weight for quantity in quantities) / whole
    noise = added([quantity.noise.times(quantity.weight) for quantity in quantities])
    low, high = _interval(estimate, whole, noise, [quantity.noise.chances for quantity in quantities])
    return Figure(estimate, sqrt(noise.variance) / whole, low, high, steps, units)


def _interval(
    estimate: float, steps: int, noise: Noise, answered: Sequence[tuple[float, float] | None]
) -> tuple[float, float]:
    """Return the 95 % interval of a mean from the noise of its sum."""
    chances = [pair for pair in answered if pair is not None]
    half = noise.half / steps
    if len(chances) == steps:
        if len(set(chances)) == 1:
            t, f = chances[0]
            low, high = ((end - f) / (t - f) for end in _wilson(round((f + (t - f) * estimate) * steps), steps))
            return min(low, estimate), max(high, estimate)
        half = _bounded(noise.variance, [1 / (t - f) for t, f in chances]) / steps
    return estimate - half, estimate + half


def _wilson(hits: int, steps: int) -> tuple[float, float]:
    """Return the 95 % interval of the mean chance of independent hits (Wilson 1927).

    The interval is corrected for continuity: Newcombe (1998), method 4. If the chances differ, the hits vary less than
    with a single chance (Hoeffding 1956), so the interval holds for differing chances too.
    """
    z, share = NORMAL, hits / steps
    low = 2 * hits + z * z - 1 - z * sqrt(max(0.0, z * z - 2 - 1 / steps + 4 * share * (steps - hits + 1)))
    high = 2 * hits + z * z + 1 + z * sqrt(max(0.0, z * z + 2 - 1 / steps + 4 * share * (steps - hits - 1)))
    whole = 2 * (steps + z * z)
    return (max(0.0, low / whole) if hits else 0.0), (min(1.0, high / whole) if hits < steps else 1.0)


def _bounded(variance: float, spreads: Sequence[float]) -> float:
    """Return a distance from 0 that covers at least 95 of 100 sums of bounded noise with these spreads.

    The distance is the smaller of Hoeffding's bound (1963, theorem 2) and Bernstein's. Each side gets half of the
    remaining chance.
    """
    doubt = log(2 / (1 - CONFIDENCE))
    third = max(spreads) * doubt / 3
    return min(sqrt(doubt / 2 * sum(spread**2 for spread in spreads)), third + sqrt(third**2 + 2 * variance * doubt))


def _figures(group: list[MeasuredRelease]) -> dict[str, Figure]:
    parts = _by_part(release.quantities(policy) for release, policy in group)
    figures = {name: figure_of(found) for name, found in parts.items()}
    centre = _centre(group)
    if figures and centre is not None:
        reaches = {name: _reach([quantity.noise for quantity in parts[name]]) for name in ("sum", "count")}
        return {"": _ratio(figures["sum"], figures["count"], centre, reaches)} | figures
    return figures


def _reach(noises: list[Noise]) -> float:
    """Return a distance from 0 that covers 95 of 100 means of noise, even if this noise is added to other noise.

    The noise may be added with any factor.
    """
    whole = added(noises)
    return half_width(whole.variance, whole.fourth, coarsest=whole.grid) / len(noises)


def _centre(group: list[MeasuredRelease]) -> float | None:
    """Return the constant that is subtracted from items in means over hidden numbers.

    Return None if the group has another kind or several kinds.
    """
    kinds = {policy.kind if policy else None for _, policy in group}
    kind = next(iter(kinds))
    if len(kinds) > 1 or not isinstance(kind, HiddenMean):
        return None
    return kind.item.axis.double(kind.centre)


def _ratio(total: Figure, number: Figure, centre: float, reaches: Mapping[str, float]) -> Figure:
    """Return the centre plus a sum divided by a number, with Fieller's interval (1954), which may be unbounded.

    A mean m is in the interval if sum - m * number is within its own interval around 0. Fieller assumes normal noise,
    whose variances add up. Here the squares of ``reaches``, the half-widths of the intervals of sum and number, add up
    in the same way; the half-widths also cover heavier tails and noise on a grid.
    """
    (s, s_error), (n, n_error) = total[:2], number[:2]
    if n <= 0:
        return Figure(centre, inf, -inf, inf, total.steps)
    m = s / n
    error = sqrt(s_error**2 + (m * n_error) ** 2) / n
    a, b, c = n**2 - reaches["count"] ** 2, s * n, s**2 - reaches["sum"] ** 2
    if a <= 0:
        return Figure(centre + m, error, -inf, inf, total.steps)
    reach = sqrt(max(0.0, b * b - a * c))
    return Figure(centre + m, error, centre + (b - reach) / a, centre + (b + reach) / a, total.steps)


class WeightedTotal(NamedTuple):
    """The weighted sum of numbers over steps, with its noise."""

    number: float
    weight: int
    steps: int
    noise: Noise

    @classmethod
    def of(cls, quantities: Sequence[Quantity]) -> "WeightedTotal":
        """Return the total of independent quantities (at least one)."""
        whole = sum(quantity.weight for quantity in quantities)
        number = sum(quantity.number * quantity.weight for quantity in quantities)
        noises = [quantity.noise.times(quantity.weight) for quantity in quantities]
        return cls(number, whole, len(quantities), noises[0] if len(noises) == 1 else added(noises))

    @property
    def mean(self) -> float:
        """The total divided by its weight."""
        return self.number / self.weight

    @property
    def deviation(self) -> float:
        """The standard deviation of the mean."""
        return sqrt(self.noise.variance) / self.weight

    @property
    def figure(self) -> Figure:
        """The mean with its interval."""
        half = self.noise.half / self.weight
        return Figure(self.mean, self.deviation, self.mean - half, self.mean + half, self.steps, self.weight)


class MeanDifference(NamedTuple):
    """The difference between two means, the second minus the first, with its 95 % interval."""

    before: WeightedTotal
    after: WeightedTotal
    half: float

    @classmethod
    def of(cls, before: WeightedTotal, after: WeightedTotal) -> "MeanDifference":
        """Return the difference between the means of two totals over different steps."""
        one, other = before.noise, after.noise
        if is_exact(one.rates) and is_exact(other.rates):
            factors = one.grid / before.weight, other.grid / after.weight
            return cls(before, after, half_of_difference(one.rates, factors[0], other.rates, factors[1], CONFIDENCE))
        scaled = one.times(1 / before.weight), other.times(1 / after.weight)
        variance, fourth = sum(noise.variance for noise in scaled), sum(noise.fourth for noise in scaled)
        return cls(before, after, half_width(variance, fourth, coarsest=max(noise.grid for noise in scaled)))

    @property
    def estimate(self) -> float:
        """The second mean minus the first."""
        return self.after.mean - self.before.mean

    @property
    def deviation(self) -> float:
        """The standard deviation of the difference."""
        return sqrt(self.before.deviation**2 + self.after.deviation**2)


def totals(quantities: Iterable[Mapping[str, Quantity]]) -> dict[str, WeightedTotal]:
    """Return the total of each part, in the order in which parts first appear."""
    return {name: WeightedTotal.of(several) for name, several in _by_part(quantities).items()}


def _by_part(quantities: Iterable[Mapping[str, Quantity]]) -> dict[str, list[Quantity]]:
    parts: dict[str, list[Quantity]] = {}
    for found in quantities:
        for name, quantity in found.items():
            parts.setdefault(name, []).append(quantity)
    return parts


def of_one_unit(release: Release, quantities: Mapping[str, Quantity]) -> dict[str, Quantity]:
    """Return the value of a statistic per unit, by part: divide sums and bins by the number of units."""
    count = release.count
    if release.statistic in WEIGHED or count is None:
        return dict(quantities)
    found = {}
    for name, (number, noise, _) in quantities.items():
        units = max(1, count[name] if isinstance(count, Mapping) else count)
        found[name] = Quantity(number / units, noise.times(1 / units), units)
    return found


def together(quantities: Mapping[str, Quantity], parts: Sequence[str]) -> Quantity:
    """Return the sum of some parts of one release; the parts have independent noise and the same weight."""
    chosen = [quantities[name] for name in parts]
    if len(chosen) == 1:
        return chosen[0]
    return Quantity(sum(each.number for each in chosen), added([each.noise for each in chosen]), chosen[0].weight)
