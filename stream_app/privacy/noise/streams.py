"""Which bits an event draws: noise and coins as functions of key, policy, series and step.

Noise message: every parameter of the mechanism and the policy version (``Policy.identity``), spend, series, step and
the clamped value in a fixed width, under the epoch's key: the same noise at another scale or on another value would
reveal the value exactly. Coin message: the same without value and spend, so that which events are approximated, which
anyone sees, depends on nothing raw. Dissimilarity message (level w-event): the noise message with what the comparison
is with, the cells last released, and its budget instead of the spend. No offset, batch position or clock is in any, so
a replay draws the same; each has a person (BLAKE2b's) of its own, so none ever draws another's bits.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from struct import Struct, pack
from typing import Final

from stream_app.privacy.guard import WindowLevel
from stream_app.privacy.noise.randomness import BitStream
from stream_app.privacy.policy import Policy
from stream_app.privacy.rule import Rule
from stream_app.privacy.values import RawCells, ReleasedCells

NOISE = b"landmark-noise-1"
COIN = b"landmark-coin-01"
START = b"landmark-start-1"
FRESH = b"landmark-intrude"
CLOSING = b"landmark-closing"
DISSIMILARITY = b"landmark-dissim1"


_NOISE_HEAD: Final = Struct(">QQQH").pack
_COIN_HEAD: Final = Struct(">QQH").pack


def noise_messages(
    epoch: int,
    starts_ms: Iterable[int],
    spends_nano: Iterable[int],
    names: Sequence[bytes],
    cells: Iterable[bytes],
) -> Iterator[bytes]:
    """Yield the noise message of each event, without the policy's identity; ``cells`` are integers of 64 bits."""
    # PRIVACY: the raw cells enter a keyed hash whose bits cannot be told from uniform ones without the key.
    heads = map(_NOISE_HEAD, repeat(epoch), starts_ms, spends_nano, map(len, names))
    return map(b"".join, zip(heads, names, cells, strict=False))


def coin_messages(epoch: int, starts_ms: Iterable[int], names: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the coin message of each event, without the policy's identity."""
    heads = map(_COIN_HEAD, repeat(epoch), starts_ms, map(len, names))
    return map(b"".join, zip(heads, names, strict=False))


def noise_stream(
    secret: bytes, epoch: int, policy: Policy | Rule, series: str, step_ms: int, spend_nano: int, cells: RawCells
) -> BitStream:
    """Return the bits of one event's noise; ``step_ms`` is the start of its step."""
    (message,) = noise_messages(
        epoch, (step_ms,), (spend_nano,), (series.encode(),), (pack(f">{len(cells)}q", *cells),)
    )
    return BitStream(secret, NOISE, policy.identity + message)


def start_stream(seed: bytes, policy: Policy, series: str, step_ms: int, rate_nano: int, looks: int) -> BitStream:
    """Return the bits of the noise that a step's counters start with, or take up after an announced intrusion.

    ``seed`` is the opening watermark's or the announcement's, ``looks`` the number of announced intrusions before, so
    that an announcement sent twice adds other noise.
    """
    name = series.encode()
    head = pack(">QQQH", step_ms, rate_nano, looks, len(name))
    return BitStream(seed, FRESH if looks else START, b"%b%b%b" % (policy.identity, head, name), once=True)


def closing_stream(
    seed: bytes, policy: Policy | Rule, series: str, step_ms: int, spend_nano: int, cells: RawCells
) -> BitStream:
    """Return the bits of a collected step's noise, from its closing watermark's seed."""
    # PRIVACY: as above. Under the resident key it would protect nothing from who saw that key and the counters.
    name = series.encode()
    head = pack(">QQH", step_ms, spend_nano, len(name))
    message = b"%b%b%b%b" % (policy.identity, head, name, pack(f">{len(cells)}q", *cells))
    return BitStream(seed, CLOSING, message, once=True)


def coin_stream(secret: bytes, epoch: int, policy: Policy | Rule, series: str, step_ms: int) -> BitStream:
    """Return the bits of one event's coin."""
    name = series.encode()
    return BitStream(secret, COIN, b"".join((policy.identity, _COIN_HEAD(epoch, step_ms, len(name)), name)))


def dissimilarity_stream(  # noqa: PLR0913, PLR0917 (all that the noise may depend on)
    secret: bytes,
    epoch: int,
    policy: Policy,
    series: str,
    step_ms: int,
    level: WindowLevel,
    cells: RawCells,
    released: ReleasedCells,
) -> BitStream:
    """Return the bits of the noise on one event's distance from the last release."""
    # PRIVACY: as for noise: the raw cells enter a keyed hash alone. The same noise on another distance would show the
    # difference of the two, so all that the distance is made of is in the message.
    name = series.encode()
    head = pack(">QQQH", epoch, step_ms, level.charge_nano, len(name))
    both = pack(f">{2 * len(cells)}q", *cells, *released)
    return BitStream(secret, DISSIMILARITY, b"%b%b%b%b" % (policy.identity, head, name, both))
