"""The upper-left convex hull of all points (D, S) of a transition matrix, which is all that temporal loss needs.

For rows q and d and a set of columns, let ``D`` be the sum of d over the set, ``Q`` the sum of q, and ``S = Q - D``. A
step turns a loss alpha into ``log1p(max S / (D + w))``, both in epsilon, with ``w = 1 / expm1(alpha)`` (Cao et al.
2017, theorem 4, rearranged). The fraction is the slope of the line from (-w, 0) to (D, S), so only the corners of the
hull matter. For a direction (a, b), the best columns of a pair are those with ``b (q - d) > a d``, so the farthest
point of every pair is a plain sum. The hull is found corner by corner: in the direction perpendicular to the line
through two known corners, there is either a farther point, which is a new corner between them, or none. A pair's
distance is a convex function of the direction, so most pairs are soon known to lie inside.

Storing S instead of Q keeps full relative precision when rows are nearly equal.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_CHUNK_ENTRIES = 1 << 16  # 8-byte entries processed at a time: half a mebibyte, which fits a core's cache
_ROUNDING = 2.0**-50
"""Relative distance within which a farther point is not a corner, because the sums are not exact enough."""

_Floats = NDArray[np.float64]
_Rows = NDArray[np.intp]


class Vertex(NamedTuple):
    """A corner of the hull: sums over one set of columns, both with a relative error of a few roundings."""

    base: float  # D, the sum of the smaller row
    gain: float  # S = Q - D, above 0


class _Span(NamedTuple):
    """The range between two neighbouring corners, and the pairs that may have a point there."""

    first: Vertex
    last: Vertex
    pairs: tuple[_Rows, _Rows]
    first_direction: tuple[float, float]
    first_distance: _Floats
    last_direction: tuple[float, float]
    last_distance: _Floats


def hull_of(rows: _Floats) -> tuple[Vertex, ...]:
    """Return the corners, from the largest gain to the smallest base, or no corners if all rows are equal."""
    if (rows == rows[0]).all():
        return ()
    q, d = np.divmod(np.arange(len(rows) ** 2), len(rows))
    pairs = q[q != d], d[q != d]
    direction = (0.0, 1.0)
    distance = _distances(rows, pairs, direction)
    first = _farthest(rows, pairs, direction, distance)
    last = _steepest(rows)
    if first.base == 0 or first == last:
        return (first,)
    corners = {first, last}
    # No pair has a point beyond the line through the last corner and the origin.
    beyond = (1.0, 0.0) if last.base == 0 else (last.gain, last.base)
    spans = [_Span(first, last, pairs, direction, distance, beyond, np.zeros(len(distance)))]
    while spans:
        spans += _split(rows, spans.pop(), corners)
    return _convex(sorted(corners, reverse=True))


def _split(rows: _Floats, span: _Span, corners: set[Vertex]) -> list[_Span]:
    """Add the corner between the ends of a span, if there is one, and return the two resulting spans."""
    first, last = span.first, span.last
    across = (first.gain - last.gain, first.base - last.base)
    (a, b), (a1, b1), (a2, b2) = across, span.first_direction, span.last_direction
    turn = a2 * b1 - a1 * b2
    if a <= 0 or b <= 0 or turn <= 0:
        return []
    # across = share1 * first_direction + share2 * last_direction, and distances are sublinear in the direction.
    share1, share2 = (a2 * b - a * b2) / turn, (a * b1 - a1 * b) / turn
    known = b * last.gain - a * last.base
    enough = known + _ROUNDING * b * last.gain
    may = share1 * span.first_distance + share2 * span.last_distance > enough
    pairs = (span.pairs[0][may], span.pairs[1][may])
    if not len(pairs[0]):
        return []
    distance = _distances(rows, pairs, across)
    found = _farthest(rows, pairs, across, distance)
    if found in corners or b * found.gain - a * found.base <= enough:
        return []
    corners.add(found)
    return [
        _Span(first, found, pairs, span.first_direction, span.first_distance[may], across, distance),
        _Span(found, last, pairs, across, distance, span.last_direction, span.last_distance[may]),
    ]


def _distances(rows: _Floats, pairs: tuple[_Rows, _Rows], direction: tuple[float, float]) -> _Floats:
    """Return the distance of each pair in a direction (a, b).

    The distance is the largest ``b S - a D`` over all sets of columns.
    """
    a, b = direction
    found = np.empty(len(pairs[0]))
    size = max(1, _CHUNK_ENTRIES // len(rows))
    for start in range(0, len(found), size):
        q, d = rows[pairs[0][start : start + size]], rows[pairs[1][start : start + size]]
        q -= d
        q *= b
        d *= a
        q -= d
        np.maximum(q, 0, out=q)
        q.sum(axis=1, out=found[start : start + size])
    return found


def _farthest(rows: _Floats, pairs: tuple[_Rows, _Rows], direction: tuple[float, float], distance: _Floats) -> Vertex:
    """Return the farthest point of all pairs in a direction; in a tie, the one with the smallest base."""
    a, b = direction
    best = np.flatnonzero(distance == distance.max())
    q, d = rows[pairs[0][best]], rows[pairs[1][best]]
    chosen = b * (q - d) > a * d
    base, gain = np.where(chosen, d, 0).sum(axis=1), np.where(chosen, q - d, 0).sum(axis=1)
    least = int(np.argmin(base))
    return Vertex(float(base[least]), float(gain[least]))


def _steepest(rows: _Floats) -> Vertex:
    """Return the point with the largest S / D or, if some points have D = 0, the one of these with the largest S."""
    # Entry (i, j): the sum of row i over the columns in which row j is 0.
    alone = rows @ (rows == 0).T
    i, j = np.unravel_index(int(np.argmax(alone)), alone.shape)
    if alone[i, j] > 0:
        return Vertex(0.0, float(rows[i][rows[j] == 0].sum()))
    most, least = rows.max(axis=0), rows.min(axis=0)
    columns = np.flatnonzero(least > 0)
    best = columns[int(np.argmax((most - least)[columns] / least[columns]))]
    return Vertex(float(least[best]), float(most[best] - least[best]))


def crossing(first: Vertex, second: Vertex) -> float:
    """Return the w at which two corners give the same loss; above that w, the first corner gives more.

    The first corner has the larger gain.
    """
    return (second.gain * first.base - first.gain * second.base) / (first.gain - second.gain)


def _convex(corners: list[Vertex]) -> tuple[Vertex, ...]:
    """Return the corners whose crossings decrease strictly and stay above 0; others result from rounding."""
    kept = [corners[0]]
    for corner in corners[1:]:
        if corner.gain >= kept[-1].gain:
            if corner.gain > kept[-1].gain:
                raise AssertionError("the first corner has the largest gain")
            kept[-1] = corner
            continue
        while len(kept) > 1 and crossing(kept[-1], corner) >= crossing(kept[-2], kept[-1]):
            kept.pop()
        if crossing(kept[-1], corner) > 0:
            kept.append(corner)
    return tuple(kept)
