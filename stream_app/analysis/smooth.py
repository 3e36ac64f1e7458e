"""Smoothed courses of the true values with 95 % bands: the offline counterpart of the filter `level`.

The models are those of `privacy.level`: a level that moves at random by q per step, one model for each q, with at most
`MOST_STEPS` steps between two processed steps. The filter knows only what came before a step. Here each step also uses
what came after it (Rauch, Tung, Striebel 1965). Each model is weighted by how probable it makes the measurements, and
the noise is given its exact variance. Within a range of width W the filter holds its variance at W^2/12. Here the level
is pulled back towards the middle so that it always has this variance: an autoregressive process with that q. Counts
have no range, so they start with the first measurement. Categories form a chain that stays with probability one half
and otherwise starts over; the forward-backward algorithm smooths it. Means over contributors, sums and choices have no
model, because they have no filter.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import exp, log, pi, sqrt
from typing import Final, NamedTuple

from stream_app.analysis.release import Quantity, Release, category_name
from stream_app.privacy.kinds import Category, Kind
from stream_app.privacy.kinds.category import SMALLEST_BELIEF
from stream_app.privacy.kinds.default import Model
from stream_app.privacy.level import MOST_STEPS
from stream_app.privacy.noise.mechanisms import truth_probability
from stream_app.privacy.noise.moments import NORMAL, Noise, half_width
from stream_app.privacy.policy import Policy


class SmoothedValue(NamedTuple):
    """An estimate, its standard deviation and its 95 % band; for a category, the chance that it is the true one."""

    estimate: float
    deviation: float
    low: float
    high: float


class SmoothedCourse(NamedTuple):
    """Mean and variance at each step, and the log probability of the measurements."""

    means: list[float]
    variances: list[float]
    evidence: float


def prior_of(model: Model) -> tuple[float, float] | None:
    """Return the mean and variance of a value before any measurement, or None if nothing is known of it."""
    if model.bounds is None:
        return None
    low, high = model.bounds
    return (low + high) / 2, (high - low) ** 2 / 12


def moves(prior: tuple[float, float] | None, drift: float, gaps: Sequence[float]) -> list[tuple[float, float]]:
    """Return, for each gap, the factor applied to the distance from the middle and the variance added."""
    if prior is None:
        return [(1.0, drift * gap) for gap in gaps]
    kept = max(0.0, 1 - drift / prior[1])  # variance kept per step
    return [(sqrt(kept**gap), prior[1] * (1 - kept**gap)) for gap in gaps]


def smooth(releases: Sequence[Release], policy: Policy) -> list[dict[str, SmoothedValue]]:
    """Return the smoothed value of each release, by the parts of measurements, or {} if nothing is known.

    Releases without a measurement get a smoothed value too. All releases belong to one series, are sorted by time, and
    have policies of one kind and step. A category's parts are its categories.
    """
    quantities = [release.quantities(policy) for release in releases]
    if isinstance(policy.kind, Category):
        return _categories(policy.kind, releases)
    steps = [release.timestamp_ms // policy.step_ms for release in releases]
    gaps = [float(min(after - before, MOST_STEPS)) for before, after in pairwise(steps)]
    models = policy.kind.models
    of = {name: [found.get(name) for found in quantities] for name in models}
    parts = {name: smoothed(of[name], gaps, model) for name, model in models.items()}
    return [{name: course[nth] for name, course in parts.items() if course} for nth in range(len(releases))]


def takes_smoothing(kind: Kind) -> bool:
    """Return whether the kind has smoothing models."""
    return bool(kind.models) or isinstance(kind, Category)


def smoothed(measured: Sequence[Quantity | None], gaps: Sequence[float], model: Model) -> list[SmoothedValue]:
    """Return the smoothed course of one part, or an empty list if there is neither a prior nor a measurement.

    ``gaps`` are the numbers of steps from each processed step to the next. The models are averaged by their evidence,
    so the band also covers the uncertainty about the drift.
    """
    prior = prior_of(model)
    if prior is None and all(found is None for found in measured):
        return []
    courses = [course(measured, moves(prior, drift, gaps), prior) for drift in model.drifts]
    best = max(each.evidence for each in courses)
    weights = [exp(each.evidence - best) for each in courses]
    weights = [weight / sum(weights) for weight in weights]
    found = []
    for nth in range(len(measured)):
        mean = sum(weight * each.means[nth] for weight, each in zip(weights, courses, strict=True))
        variance = sum(
            weight * (each.variances[nth] + (each.means[nth] - mean) ** 2)
            for weight, each in zip(weights, courses, strict=True)
        )
        deviation = sqrt(max(0.0, variance))
        quantity = measured[nth] if model.bounds is None else None
        half = NORMAL * deviation if quantity is None else _half(deviation, quantity.noise)
        found.append(_banded(mean, deviation, half, model.bounds))
    return found


def _half(deviation: float, noise: Noise) -> float:
    """Return the half width of a band of whole numbers, whose noise has heavier tails than normal noise.

    The share of the step's own noise in the error's variance is the weight of its measurement. The noise's relative
    fourth cumulant, times the square of that weight, is added to the error's.
    """
    share = min(1.0, deviation**2 / noise.variance)
    return half_width(deviation**2, noise.fourth * share**4) + noise.grid / 2


def _banded(mean: float, deviation: float, half: float, bounds: tuple[float, float] | None) -> SmoothedValue:
    low, high = mean - half, mean + half
    if bounds is not None:  # true values lie there, so nothing is lost
        mean, low, high = (max(bounds[0], min(each, bounds[1])) for each in (mean, low, high))
    return SmoothedValue(mean, deviation, low, high)


def course(
    measured: Sequence[Quantity | None], moves: Sequence[tuple[float, float]], prior: tuple[float, float] | None
) -> SmoothedCourse:
    """Return the posterior of a Gaussian course under independent Gaussian noise of the given variances.

    ``moves`` are the factor and the variance from each step to the next, around the prior's mean. Without a prior the
    factors are 1, and the evidence covers only what follows the first measurement.
    """
    centre = 0.0 if prior is None else prior[0]
    first = 0 if prior is not None else next(nth for nth, found in enumerate(measured) if found is not None)
    m, p, evidence = 0.0, 0.0 if prior is None else prior[1], 0.0
    means, variances = [0.0] * first, [0.0] * first
    expected = [(0.0, 0.0)] * first  # mean and variance of each step before measuring
    for nth in range(first, len(measured)):
        found = measured[nth]
        if nth > first:
            factor, variance = moves[nth - 1]
            m, p = factor * m, factor * factor * p + variance
        expected.append((m, p))
        if found is not None and nth == first and prior is None:
            m, p = found.number, found.noise.variance
        elif found is not None:
            total = p + found.noise.variance
            miss = found.number - centre - m
            evidence -= (log(2 * pi * total) + miss * miss / total) / 2
            m, p = m + p / total * miss, p * found.noise.variance / total
        means.append(m)
        variances.append(p)
    for nth in range(len(measured) - 2, first - 1, -1):
        mean, variance = expected[nth + 1]
        back = variances[nth] * moves[nth][0] / variance
        means[nth] += back * (means[nth + 1] - mean)
        variances[nth] += back * back * (variances[nth + 1] - variance)
    for nth in range(first - 1, -1, -1):
        means[nth] = means[nth + 1]
        variances[nth] = variances[nth + 1] + moves[nth][1]
    return SmoothedCourse([centre + mean for mean in means], variances, evidence)


STAYS: Final = 0.5  # of the chain of categories, as in the filter


def _categories(kind: Category, releases: Sequence[Release]) -> list[dict[str, SmoothedValue]]:
    """Return the probability of each category at each step, given all answers.

    Shares are estimated in the same way as in the filter.
    """
    names, k = [category_name(category) for category in kind.categories], len(kind.categories)
    answers = [
        None
        if release.measurement is None or release.epsilon_nano is None
        else (names.index(category_name(release.measurement)), truth_probability(release.epsilon_nano, k))
        for release in releases
    ]
    likelihoods = [_likelihood(answer, k) for answer in answers]
    shares = _shares_of(answers, k)
    forward: list[list[float]] = []
    belief = shares
    for likelihood in likelihoods:
        belief = _normalised([part * told for part, told in zip(belief, likelihood, strict=True)])
        forward.append(belief)
        belief = [STAYS * part + (1 - STAYS) * share for part, share in zip(belief, shares, strict=True)]
    after = [1.0] * k
    found: list[dict[str, SmoothedValue]] = []
    for belief, likelihood in zip(reversed(forward), reversed(likelihoods), strict=True):
        posterior = _normalised([part * told for part, told in zip(belief, after, strict=True)])
        parts = [SmoothedValue(part, sqrt(part * (1 - part)), 0.0, 1.0) for part in posterior]
        found.append(dict(zip(names, parts, strict=True)))
        told = [part * later for part, later in zip(likelihood, after, strict=True)]
        anew = sum(share * part for share, part in zip(shares, told, strict=True))
        after = _normalised([STAYS * part + (1 - STAYS) * anew for part in told])
    return found[::-1]


def _likelihood(answer: tuple[int, float] | None, k: int) -> list[float]:
    if answer is None:
        return [1.0] * k
    place, t = answer
    return [t if nth == place else (1 - t) / (k - 1) for nth in range(k)]


def _shares_of(answers: Sequence[tuple[int, float] | None], k: int) -> list[float]:
    seen, v = [0.0] * k, 0.0
    for answer in answers:
        if answer is not None:
            place, t = answer
            f = (1 - t) / (k - 1)
            seen = [n + (t - f) * ((nth == place) - f) for nth, n in enumerate(seen)]
            v += (t - f) ** 2
    return _normalised([max(SMALLEST_BELIEF, (n + 2 / k) / (v + 2)) for n in seen])


def _normalised(parts: list[float]) -> list[float]:
    total = sum(parts)
    return [part / total for part in parts]
