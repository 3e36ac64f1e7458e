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
from typing import NamedTuple, assert_never

from stream_app.privacy.dummies.options import Histograms, Options, Sets, options_of, scores_of
from stream_app.privacy.dummies.partitioned import sampled
from stream_app.privacy.dummies.request import Drawn, Dummies, Padded
from stream_app.privacy.landmarks import MOST_INTERVALS, NO_LANDMARKS, LandmarkSet
from stream_app.privacy.noise.choice import chosen
from stream_app.privacy.noise.key import KeyRing
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
    landmarks = drawn_landmarks(keys, name, policy.step_ms, policy.dummies)
    if landmarks is None:
        return Refused("key-erased")
    union = landmarks.union(carried)
    return Refused("refused-landmark") if len(union.intervals) > MOST_INTERVALS else policy.ruling(union)


@lru_cache(maxsize=16)  # the series of a default policy share a draw, which may take seconds
def drawn_landmarks(keys: KeyRing, name: bytes, step_ms: int, dummies: Dummies) -> LandmarkSet | None:
    """Return L', which holds every true landmark, by step index; None when the key of the range's start is erased."""
    joined: Iterable[int] | None
    match dummies:
        case Drawn():
            choice = choice_of(keys, name, step_ms, dummies)
            joined = None if choice is None else choice.joined
        case Padded():
            joined = _padded(keys, name, step_ms, dummies)
        case _:
            assert_never(dummies)
    return None if joined is None else joined_by(dummies, joined)


def joined_by(dummies: Dummies, joined: Iterable[int]) -> LandmarkSet:
    """Return L': the true landmarks with the steps that join them."""
    # PRIVACY: L' shows every true landmark among its steps; the docs say what hides them there and what does not.
    return dummies.landmarks.union(LandmarkSet.of((step, step + 1) for step in joined))


class Choice(NamedTuple):
    """Options with their scores, the index of the one drawn, and the steps that join by it, by step index."""

    options: Options
    scores: list[Fraction]
    chosen: int
    joined: tuple[int, ...]


def choice_of(keys: KeyRing, name: bytes, step_ms: int, dummies: Drawn) -> Choice | None:
    """Draw one option at the charge of the request; None when the key of the range's start is erased."""
    epoch = keys.epoch_of(dummies.first * step_ms)
    secret = keys.secret_of(epoch)
    if secret is None:
        return None
    first = dummies.first
    landmarks = tuple(step - first for start, end in dummies.landmarks.intervals for step in range(start, end))
    options = options_of(dummies.method, dummies.end - first, landmarks)
    words = f"{dummies.method} {dummies.utility} ".encode()
    numbers = pack(">QQQQQ", epoch, step_ms, first, dummies.end, dummies.charge_nano)
    # PRIVACY: the true landmarks enter a keyed hash whose bits cannot be told from uniform ones without the key. The
    # same bits for other landmarks would tie the draws together, beyond what is charged.
    place = pack(f">H{len(name)}s{len(landmarks)}I", len(name), name, *landmarks)
    stream = BitStream(secret, OPTION, words + numbers + place)
    scores = scores_of(options, dummies.utility)
    nth = chosen(stream, scores, dummies.charge_nano)
    number = nth + 1 if options.order else 0
    match options:
        case Sets():
            joined: Iterable[int] = options.order[:number]
        case Histograms():
            joined = sampled(stream, options.own.grown(options.order[:number]), landmarks, number)
        case _:
            assert_never(options)
    return Choice(options, scores, nth, tuple(first + step for step in joined))


def _padded(keys: KeyRing, name: bytes, step_ms: int, dummies: Padded) -> Iterable[int] | None:
    joined = []
    for step in range(dummies.first, dummies.end):
        epoch = keys.epoch_of(step * step_ms)
        secret = keys.secret_of(epoch)
        if secret is None:
            return None
        # A coin for landmarks too: that they need none shows in nothing, not in the time either.
        stream = BitStream(secret, PADDING, pack(">QQQH", epoch, step_ms, step, len(name)) + name)
        if happens_rational(stream, dummies.numerator, dummies.denominator):
            joined.append(step)
    return joined
