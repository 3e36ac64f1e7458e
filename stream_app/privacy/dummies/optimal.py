"""Options by Optimal: of all chains of growing sets the one whose sets change the evenness least in all.

A chain adds one step after the other until all are landmarks. Instead of the (n - |L|)! chains the 2^(n - |L|) sets
are enumerated: what a chain costs from a set on does not depend on how it came there (Bellman 1957).
Source: Katsomallos 2022, whose pseudo-code compares the mean over a chain's sets with the landmarks' own deviation;
here absolute differences are summed: a set that lies more evenly does not make up for one that lies less so.
"""

from collections.abc import Sequence
from math import isqrt

from stream_app.privacy.dummies.spread import numerator, sums_of

ROOT_BITS = 64
"""Bits after the point of a square root; sums of rounded integers do not depend on their order."""


def change(steps: int, marks: Sequence[int], landmarks: Sequence[int]) -> int:
    """Return by how much the standard deviation of distances differs from that of ``landmarks``, in 2^-64 / 2n."""
    return abs(_root(steps, marks) - _root(steps, landmarks))


def _root(steps: int, marks: Sequence[int]) -> int:
    return isqrt(numerator(steps, sums_of(steps, marks)) << 2 * ROOT_BITS)


def optimal_order(steps: int, landmarks: Sequence[int]) -> list[int]:
    """Return the steps that are no landmarks in the order in which they join; ties go to the first chain in order.

    Minimises the sum of `change` over the sets of the chain. ``steps`` is at most 16: there are 2^16 sets.
    """
    known = set(landmarks)
    others = [step for step in range(steps) if step not in known]
    everything = (1 << len(others)) - 1
    cost = [0] * (everything + 1)  # of a set, and of the best chain from it on
    following = [0] * (everything + 1)
    for joined in range(everything, -1, -1):  # a larger set is a larger number
        if joined != everything:
            nexts = [nth for nth in range(len(others)) if not joined >> nth & 1]
            best = min(nexts, key=lambda nth: cost[joined | 1 << nth])
            following[joined] = best
            cost[joined] = cost[joined | 1 << best]
        marks = sorted((*landmarks, *(step for nth, step in enumerate(others) if joined >> nth & 1)))
        cost[joined] += change(steps, marks, landmarks)
    order, joined = [], 0
    while joined != everything:
        order.append(others[following[joined]])
        joined |= 1 << following[joined]
    return order
