"""Draws the effective landmarks from the true ones; key, series, landmarks and parameters determine the draw.

No message contains the policy version: versions with the same landmarks and parameters make the same draw, because
otherwise the intersection of their draws would reveal the true landmarks. A padding coin depends only on the series,
the step and the step's length. So versions agree wherever their ranges overlap, and the dummies drawn with a smaller
probability are among those drawn with a larger one.

Epochs: a coin is drawn with the key of its own step's epoch, and everything else with the key of the epoch in which the
range starts. A holder of the latter key can check a guess of the landmarks against L'; once the key is erased, nobody
can.
"""

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from struct import pack
from typing import NamedTuple

from stream_app.privacy.dummies.options import Options, options_of, scores_of
from stream_app.privacy.dummies.partitioned import sampled
from stream_app.privacy.dummies.request import DrawRequest, Dummies, PaddingRequest
from stream_app.privacy.landmarks import MOST_INTERVALS, NO_LANDMARKS, Grid, LandmarkSet
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.noise.mechanisms import chosen
from stream_app.privacy.noise.randomness import BitStream, happens_rational
from stream_app.privacy.policy import Policy
from stream_app.privacy.reason import Rejection

OPTION = b"landmark-dummy-1"
PADDING = b"landmark-pad-001"


def named_by_series(series: str) -> bytes:
    """Return the name of the draws for a series' own policy."""
    return b"series " + series.encode()


def named_by_glob(glob: str) -> bytes:
    """Return the name of the draws for a default policy.

    The policy's series share one L', because with separate draws only the true landmarks would be in every draw.
    """
    return b"glob " + glob.encode()


def drawn_policy(keys: KeyRing, name: bytes, policy: Policy, carried: LandmarkSet = NO_LANDMARKS) -> Policy | Rejection:
    """Return the policy to put in force: with L' as its landmarks if it asks for dummies, else unchanged.

    ``carried``, the coming landmarks of the previous version, are added to L' and do not affect the draw. The policy is
    refused if the key of the range's start is erased, or if L' falls into too many intervals.
    """
    if policy.dummies is None:
        return policy
    landmarks = drawn_landmarks(keys, name, policy.grid, policy.dummies)
    if landmarks is None:
        return Rejection("key-erased")
    union = landmarks.union(carried)
    return Rejection("refused-landmark") if len(union.intervals) > MOST_INTERVALS else policy.ruling(union)


@lru_cache(maxsize=16)  # the series of a default policy share a draw, which may take seconds
def drawn_landmarks(keys: KeyRing, name: bytes, grid: Grid, dummies: Dummies) -> LandmarkSet | None:
    """Return L' by step index, with every true landmark, or None if the key of the range's start is erased."""
    if isinstance(dummies, PaddingRequest):
        joined = _padded(keys, name, grid, dummies)
    else:
        choice = choice_of(keys, name, grid, dummies)
        joined = None if choice is None else choice.joined
    return None if joined is None else joined_by(dummies, joined)


def joined_by(dummies: Dummies, joined: Iterable[int]) -> LandmarkSet:
    """Return L': the true landmarks and the steps that join them."""
    # PRIVACY: L' shows every true landmark among its steps; the docs say what hides them there and what does not.
    return dummies.landmarks.union(LandmarkSet.of((step, step + 1) for step in joined))


class OptionDraw(NamedTuple):
    """Options with their scores, the index of the drawn option, and the indices of the steps it adds."""

    options: Options
    scores: list[Fraction]
    chosen: int
    joined: tuple[int, ...]


def choice_of(keys: KeyRing, name: bytes, grid: Grid, dummies: DrawRequest) -> OptionDraw | None:
    """Draw one option at the request's charge; return None if the key of the range's start is erased."""
    epoch = keys.epoch_of(max(0, grid.start_of(dummies.first)))
    secret = keys.secret_of(epoch)
    if secret is None:
        return None
    first = dummies.first
    landmarks = tuple(step - first for start, end in dummies.landmarks.intervals for step in range(start, end))
    options = options_of(dummies.method, dummies.end - first, landmarks)
    words = f"{dummies.method} {dummies.utility} ".encode()
    numbers = pack(">QQqqQ", epoch, grid.length_ms, first, dummies.end, dummies.charge_nano)
    # PRIVACY: the true landmarks enter a keyed hash whose bits cannot be distinguished from uniform ones without the
    # key. The same bits for other landmarks would link the draws, beyond what is charged.
    place = pack(f">H{len(name)}s{len(landmarks)}I", len(name), name, *landmarks)
    stream = BitStream(secret, OPTION, words + numbers + place + _origin(grid))
    scores = scores_of(options, dummies.utility)
    nth = chosen(stream, scores, dummies.charge_nano)
    number = nth + 1 if options.order else 0
    joined: Iterable[int] = options.order[:number]
    if options.own is not None:
        joined = sampled(stream, options.own.grown(options.order[:number]), landmarks, number)
    return OptionDraw(options, scores, nth, tuple(first + step for step in joined))


def _padded(keys: KeyRing, name: bytes, grid: Grid, dummies: PaddingRequest) -> Iterable[int] | None:
    joined = []
    for step in range(dummies.first, dummies.end):
        epoch = keys.epoch_of(max(0, grid.start_of(step)))
        secret = keys.secret_of(epoch)
        if secret is None:
            return None
        # Landmarks get a coin too, so nothing, not even the time, shows that they need none.
        place = pack(">QQqH", epoch, grid.length_ms, step, len(name))
        stream = BitStream(secret, PADDING, place + name + _origin(grid))
        if happens_rational(stream, dummies.numerator, dummies.denominator):
            joined.append(step)
    return joined


def _origin(grid: Grid) -> bytes:
    """Return the start of the grid for a message; it is empty if the grid starts in 1970, as all grids once did."""
    return pack(">Q", grid.origin_ms) if grid.origin_ms else b""
