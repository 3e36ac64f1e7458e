"""The options of a method with their scores: a landmark set, and what joins it one after the other.

Option number k is the landmarks with the first k that join, k from 1 on; only where every step is a landmark already
there is nothing to join, and one option: that. Scores are at most 0, and higher where the option is nearer to the
landmarks. Their sensitivity is 1: for a fixed option, a landmark more or less among them changes

* `count`, minus the number of dummies, by exactly 1;
* `proximity`, minus the mean over all of the option's steps of the distance to the nearest landmark, in lengths of the
  range, by less than 1, as it lies within -1 .. 0 (1 without landmarks, 0 for a landmark itself).

So far the exponential mechanism's own loss goes. That *which* options there are depends on the landmarks is not in it.
Source: Katsomallos 2022, section on the release of options.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple, assert_never

from stream_app.privacy.dummies.partitioned import Histogram, histogram_of
from stream_app.privacy.dummies.request import Method, Utility
from stream_app.privacy.dummies.sets import heuristic_order, optimal_order


class Sets(NamedTuple):
    """Steps in the order in which they join."""

    steps: int
    landmarks: tuple[int, ...]
    order: tuple[int, ...]


class Histograms(NamedTuple):
    """Bins in the order in which they gain a step; ``own`` is the landmarks' histogram."""

    steps: int
    landmarks: tuple[int, ...]
    order: tuple[int, ...]
    own: Histogram


Options = Sets | Histograms


def options_of(method: Method, steps: int, landmarks: tuple[int, ...]) -> Options:
    """Return the options for ``landmarks``, ascending, in a range of ``steps``."""
    match method:
        case "optimal":
            return Sets(steps, landmarks, tuple(optimal_order(steps, landmarks)))
        case "heuristic":
            return Sets(steps, landmarks, tuple(heuristic_order(steps, landmarks)))
        case "partitioned":
            own = histogram_of(steps, landmarks)
            return Histograms(steps, landmarks, tuple(own.order()), own)
        case _:
            assert_never(method)


def scores_of(options: Options, utility: Utility) -> list[Fraction]:
    """Return the score of every option, exactly."""
    joining = len(options.order)
    match utility:
        case "count":
            return [Fraction(-number) for number in range(1, joining + 1)] or [Fraction(0)]
        case "proximity":
            far = accumulate(_distances(options))
            size = len(options.landmarks)
            return [-total / (options.steps * (size + number)) for number, total in enumerate(far, 1)] or [Fraction(0)]
        case _:
            assert_never(utility)


def _distances(options: Options) -> list[Fraction]:
    """Return how far each that joins is from the nearest landmark, in steps; of a bin's, the mean over its others."""
    nearest = distances(options.steps, options.landmarks)
    match options:
        case Sets():
            return [Fraction(nearest[step]) for step in options.order]
        case Histograms():
            width, counts = options.own.width, options.own.counts
            rooms = options.own.widths
            # Landmarks have distance 0, so a bin's sum is that of its other steps.
            means = [
                Fraction(sum(nearest[nth * width : nth * width + room]), max(1, room - count))
                for nth, (room, count) in enumerate(zip(rooms, counts, strict=True))
            ]
            return [means[nth] for nth in options.order]
        case _:
            assert_never(options)


def distances(steps: int, landmarks: Sequence[int]) -> list[int]:
    """Return the distance of every step of the range to the nearest landmark, in steps; ``steps`` without any."""
    found = [steps] * steps
    for step in landmarks:
        found[step] = 0
    for step in range(1, steps):
        found[step] = min(found[step], found[step - 1] + 1)
    for step in range(steps - 2, -1, -1):
        found[step] = min(found[step], found[step + 1] + 1)
    return found
