"""Checks whether rows seem to have been selected by their noise, which would make means wrong despite the intervals."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import exp, log, log1p
from typing import Final

from stream_app.analysis.means import MeasuredRelease
from stream_app.privacy.kinds import Number

MOST_LIKELY: Final = log(1e-9)
"""Log of the probability below which measurements are reported as selected by their noise."""
FEWEST: Final = 10
"""Fewer measurements than this may lie close together by chance."""


def chosen_by_noise(measured: Iterable[MeasuredRelease]) -> str:
    """Return a series whose numbers are too close together or too far out for their noise, or "".

    For any true values within the range, the range and the scale determine the probability that a measurement with
    Laplace noise falls outside ``[a, b]``. Let a and b be the smallest and the largest of n measurements. Then the
    probability that none of the n falls outside ``[a, b]`` is at most some p. For rows that nobody selected, the
    probability that p is below q is at most ``n q^(1 - 1/n) - (n - 1) q``: below 1e-7 for `FEWEST` and q = 1e-9, and
    less for more rows. The same applies to ``[a, inf)`` and to the other side: for the smallest of n measurements, the
    probability of ``p <= q`` is at most q.
    """
    by_series: dict[str, list[tuple[float, float, Number]]] = {}
    for release, policy in measured:
        if policy is not None and isinstance(policy.kind, Number) and type(release.scale) is float:
            found = by_series.setdefault(release.series, [])
            if type(release.measurement) is float:
                found.append((release.measurement, release.scale, policy.kind))
    many = ((series, found) for series, found in by_series.items() if len(found) >= FEWEST)
    tests = _log_probability, _log_beyond
    return next((series for series, found in many if min(test(found) for test in tests) < MOST_LIKELY), "")


def _log_beyond(found: Sequence[tuple[float, float, Number]]) -> float:
    """Return the log of the largest probability that all measurements lie this far beyond the range."""
    least, most = min(found)[0], max(found)[0]
    above = below = 0.0
    for _, scale, kind in found:
        cell = kind.axis.width(1, 1)  # a cell less, because noise is discrete
        above -= max(0.0, least - kind.upper - cell) / scale + log(2) * (least > kind.upper + cell)
        below -= max(0.0, kind.lower - most - cell) / scale + log(2) * (most < kind.lower - cell)
    return min(above, below)


def _log_probability(found: Sequence[tuple[float, float, Number]]) -> float:
    """Return the log of the largest probability that all measurements fall within the interval they span."""
    least, most = min(found)[0], max(found)[0]
    total = 0.0
    for _, scale, kind in found:
        # The true value whose measurements most often stay inside; one cell further out because the noise is discrete.
        true, cell = min(max((least + most) / 2, kind.lower), kind.upper), kind.axis.width(1, 1)
        outside = (exp(-(true - least + cell) / scale) if true >= least - cell else 1.0) / 2
        outside += (exp(-(most - true + cell) / scale) if true <= most + cell else 1.0) / 2
        total += log1p(-outside)
    return total


def gaps(measured: Iterable[MeasuredRelease]) -> str:
    """Return a series that has missing steps between other steps, or "" if there is none."""
    times: dict[str, list[int]] = {}
    for release, _ in measured:
        times.setdefault(release.series, []).append(release.timestamp_ms)
    for series, found in times.items():
        apart = Counter(after - before for before, after in pairwise(sorted(found)))
        if apart and max(apart) > max(apart, key=lambda length: (apart[length], -length)):
            return series
    return ""
