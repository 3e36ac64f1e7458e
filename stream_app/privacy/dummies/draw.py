"""From true landmarks to those that rule: drawn by key, series, landmarks and parameters.

The policy version is in no message: versions with the same landmarks and parameters draw the same, else their
intersection would tell the true ones. A padding coin depends on series, step and the step's length alone, so that
versions agree wherever their ranges meet, and the dummies of a smaller probability are among those of a larger one.

Epochs: a coin comes of its own step's, everything else of the epoch of the range's start. Whoever holds that key can
check a guess of the landmarks against L'; once it is erased, nobody can.
"""

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from struct import pack
from typing import NamedTuple

from stream_app.privacy.dummies.options import Options, options_of, scores_of
from stream_app.privacy.dummies.partitioned import sampled
from stream_app.privacy.dummies.request import Drawn, Dummies, Padded
from stream_app.privacy.landmarks import MOST_INTERVALS, NO_LANDMARKS, Grid, LandmarkSet
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.noise.mechanisms import chosen
from stream_app.privacy.noise.randomness import BitStream, happens_rational
from stream_app.privacy.policy import Policy
from stream_app.privacy.reason import Refused

OPTION = b"landmark-dummy-1"
PADDING = b"landmark-pad-001"


def named_by_series(series: str) -> bytes:
    """Return the name of the draws for a policy of a series' own."""
    return b"series " + series.encode()


def named_by_glob(glob: str) -> bytes:
    """Return the name of the draws for a default policy.

    Its series share one L': a draw each from the same landmarks would leave these alone in what all draws have.
    """
    return b"glob " + glob.encode()


def drawn_policy(keys: KeyRing, name: bytes, policy: Policy, carried: LandmarkSet = NO_LANDMARKS) -> Policy | Refused:
    """Return the policy that may rule: with L' for the true landmarks where it asks for dummies, else as it is.

    L' is united with ``carried``, what is to come of the landmarks of the version before; the draw knows nothing of
    them. Refused when the key of the range's start is erased, and when L' falls into too many intervals.
    """
    if policy.dummies is None:
        return policy
    landmarks = drawn_landmarks(keys, name, policy.grid, policy.dummies)
    if landmarks is None:
        return Refused("key-erased")
    union = landmarks.union(carried)
    return Refused("refused-landmark") if len(union.intervals) > MOST_INTERVALS else policy.ruling(union)


@lru_cache(maxsize=16)  # the series of a default policy share a draw, which may take seconds
def drawn_landmarks(keys: KeyRing, name: bytes, grid: Grid, dummies: Dummies) -> LandmarkSet | None:
    """Return L', which holds every true landmark, by step index; None when the key of the range's start is erased."""
    if isinstance(dummies, Padded):
        joined = _padded(keys, name, grid, dummies)
    else:
        choice = choice_of(keys, name, grid, dummies)
        joined = None if choice is None else choice.joined
    return None if joined is None else joined_by(dummies, joined)


def joined_by(dummies: Dummies, joined: Iterable[int]) -> LandmarkSet:
    """Return L': the true landmarks with the steps that join them."""
    # PRIVACY: L' shows every true landmark among its steps; the docs say what hides them there and what does not.
    return dummies.landmarks.union(LandmarkSet.of((step, step + 1) for step in joined))


class OptionDraw(NamedTuple):
    """Options with their scores, the index of the one drawn, and the steps that join by it, by step index."""

    options: Options
    scores: list[Fraction]
    chosen: int
    joined: tuple[int, ...]


def choice_of(keys: KeyRing, name: bytes, grid: Grid, dummies: Drawn) -> OptionDraw | None:
    """Draw one option at the charge of the request; None when the key of the range's start is erased."""
    epoch = keys.epoch_of(max(0, grid.start_of(dummies.first)))
    secret = keys.secret_of(epoch)
    if secret is None:
        return None
    first = dummies.first
    landmarks = tuple(step - first for start, end in dummies.landmarks.intervals for step in range(start, end))
    options = options_of(dummies.method, dummies.end - first, landmarks)
    words = f"{dummies.method} {dummies.utility} ".encode()
    numbers = pack(">QQqqQ", epoch, grid.length_ms, first, dummies.end, dummies.charge_nano)
    # PRIVACY: the true landmarks enter a keyed hash whose bits cannot be told from uniform ones without the key. The
    # same bits for other landmarks would tie the draws together, beyond what is charged.
    place = pack(f">H{len(name)}s{len(landmarks)}I", len(name), name, *landmarks)
    stream = BitStream(secret, OPTION, words + numbers + place + _origin(grid))
    scores = scores_of(options, dummies.utility)
    nth = chosen(stream, scores, dummies.charge_nano)
    number = nth + 1 if options.order else 0
    joined: Iterable[int] = options.order[:number]
    if options.own is not None:
        joined = sampled(stream, options.own.grown(options.order[:number]), landmarks, number)
    return OptionDraw(options, scores, nth, tuple(first + step for step in joined))


def _padded(keys: KeyRing, name: bytes, grid: Grid, dummies: Padded) -> Iterable[int] | None:
    joined = []
    for step in range(dummies.first, dummies.end):
        epoch = keys.epoch_of(max(0, grid.start_of(step)))
        secret = keys.secret_of(epoch)
        if secret is None:
            return None
        # A coin for landmarks too: that they need none shows in nothing, not in the time either.
        place = pack(">QQqH", epoch, grid.length_ms, step, len(name))
        stream = BitStream(secret, PADDING, place + name + _origin(grid))
        if happens_rational(stream, dummies.numerator, dummies.denominator):
            joined.append(step)
    return joined


def _origin(grid: Grid) -> bytes:
    """Return where the grid begins, for a message; nothing where it begins in 1970, as all did once."""
    return pack(">Q", grid.origin_ms) if grid.origin_ms else b""
