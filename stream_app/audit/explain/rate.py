"""The rate at which Adaptive publishes, in whole billionths; it is a function of released noisy values.

After each publication except a period's first, the distance between its noisy value and the previous one is compared
with the scale of the noise just used. If the scale exceeds the distance, the rate falls; otherwise it rises. Distances
are whole numbers of grid cells, so no comparison is rounded.
"""

from collections.abc import Iterable, Mapping
from math import floor
from typing import Any

from stream_app.audit.books.terms import Terms
from stream_app.audit.form.grid import decimal_of
from stream_app.audit.kinds.space import Count
from stream_app.audit.releases import points_under
from stream_app.words.amount import NANO


def rate_of(terms: Terms, scheme: Mapping[str, Any], published: Iterable[tuple[object, int, Count]]) -> int:
    """Return the rate to use after a period's publications, each given with its noisy value, spend and count.

    The count is the number of items that a mean covers or the number of units, if that number is public. `scheme`
    contains the policy's parameters for Adaptive. Raises `RateError`.
    """
    increase, decrease, minimum = (
        floor(decimal_of(scheme.get(name, default)) * NANO)
        for name, default in (("increase", 0.5), ("decrease", 0.5), ("minimum", 0.1))
    )
    rate, before, space = NANO, None, points_under(terms).space
    for measurement, epsilon_nano, count in published:
        now = measurement, max(1, count) if isinstance(count, int) and terms.divides else 1
        if before is not None:
            still = space.still(before, now, terms.scale_nano / (epsilon_nano * now[1]))
            moved = rate * (NANO - decrease) // NANO if still else rate + (NANO - rate) * increase // NANO
            rate = max(moved, minimum)
        before = now
    return rate
