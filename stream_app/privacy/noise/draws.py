"""The random draws of steps under the noise key: coins and noise, for one series or many at once.

An event gets the same draws whether it is processed alone or with the events of many other series: the fast sampling of
many series falls back to exact sampling and gives the same results. The bits that an event draws are a function of the
key, policy, series and step.

The noise message contains every parameter of the mechanism and the policy version (``Policy.identity``), the spend,
series, step and the clamped value in a fixed width. It is hashed under the epoch's key. If the same noise were used at
another scale or on another value, it would reveal the value exactly. The coin message omits the value and the spend, so
that no raw value affects which events are repeated, because anyone can see which events these are. The dissimilarity
message (level w-event) is the noise message with the last released cells, from which the distance is computed, and with
the budget of the comparison instead of the spend. No message contains an offset, batch position or clock, so a replay
draws the same bits. Each kind of message has its own BLAKE2b personalization (``person``), so no two kinds share bits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from struct import Struct, pack
from typing import Final, final

import numpy as np

from stream_app.privacy.amounts import Flags, Ints
from stream_app.privacy.guard import WindowLevel
from stream_app.privacy.kinds.axis import LARGEST_CELL, saturated
from stream_app.privacy.noise.mechanisms import differs, discrete_laplace, discrete_laplace_by
from stream_app.privacy.noise.randomness import BitStream, first_words, happens_quickly, happens_rational, keyed_hash
from stream_app.privacy.policy import Policy
from stream_app.privacy.rule import Rule
from stream_app.privacy.values import NANO, RawCells, ReleasedCells

NOISE = b"landmark-noise-1"
COIN = b"landmark-coin-01"
START = b"landmark-start-1"
FRESH = b"landmark-intrude"
CLOSING = b"landmark-closing"
DISSIMILARITY = b"landmark-dissim1"


_NOISE_HEAD: Final = Struct(">QQQH").pack
_COIN_HEAD: Final = Struct(">QQH").pack


def noise_message(epoch: int, start_ms: int, spend_nano: int, name: bytes, cells: bytes) -> bytes:
    """Return the noise message of an event, without the policy's identity.

    ``cells`` are 64-bit integers.
    """
    # PRIVACY: the raw cells enter a keyed hash whose bits are indistinguishable from uniform ones without the key.
    return _NOISE_HEAD(epoch, start_ms, spend_nano, len(name)) + name + cells


def coin_message(epoch: int, start_ms: int, name: bytes) -> bytes:
    """Return the coin message of an event, without the policy's identity."""
    return _COIN_HEAD(epoch, start_ms, len(name)) + name


def noise_stream(
    secret: bytes, epoch: int, policy: Policy | Rule, series: str, step_ms: int, spend_nano: int, cells: RawCells
) -> BitStream:
    """Return the bits of one event's noise; ``step_ms`` is the start of its step."""
    message = noise_message(epoch, step_ms, spend_nano, series.encode(), pack(f">{len(cells)}q", *cells))
    return BitStream(secret, NOISE, policy.identity + message)


def start_stream(seed: bytes, policy: Policy, series: str, step_ms: int, rate_nano: int, looks: int) -> BitStream:
    """Return the bits of the noise added to a step's counters at its start or after an intrusion.

    ``seed`` comes from the opening watermark or the announcement. ``looks`` is the number of announced intrusions, this
    one included, so that an announcement sent twice adds different noise.
    """
    name = series.encode()
    head = pack(">QQQH", step_ms, rate_nano, looks, len(name))
    return BitStream(seed, FRESH if looks else START, b"%b%b%b" % (policy.identity, head, name), once=True)


def closing_stream(
    seed: bytes, policy: Policy | Rule, series: str, step_ms: int, spend_nano: int, cells: RawCells
) -> BitStream:
    """Return the bits of a collected step's noise, derived from the seed of its closing watermark."""
    # PRIVACY: as above. Under the resident key, this noise would protect nothing from anyone who had seen that key and
    # the counters.
    name = series.encode()
    head = pack(">QQH", step_ms, spend_nano, len(name))
    message = b"%b%b%b%b" % (policy.identity, head, name, pack(f">{len(cells)}q", *cells))
    return BitStream(seed, CLOSING, message, once=True)


def coin_stream(secret: bytes, epoch: int, policy: Policy | Rule, series: str, step_ms: int) -> BitStream:
    """Return the bits of one event's coin."""
    return BitStream(secret, COIN, policy.identity + coin_message(epoch, step_ms, series.encode()))


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
    """Return the bits of the noise added to the distance between one event and the last release."""
    # PRIVACY: as for noise, the raw cells enter only a keyed hash. The same noise on another distance would show the
    # difference between the two distances, so the message contains everything that the distance is computed from.
    name = series.encode()
    head = pack(">QQQH", epoch, step_ms, level.charge_nano, len(name))
    both = pack(f">{2 * len(cells)}q", *cells, *released)
    return BitStream(secret, DISSIMILARITY, b"%b%b%b%b" % (policy.identity, head, name, both))


_CELL: Final = Struct(">q").pack


@final
@dataclass(slots=True, repr=False)
class Draw:
    """The bits of one event under its epoch's key; its noise is drawn from ``seed`` if one is given."""

    _secret: bytes
    _epoch: int
    _series: str
    _seed: bytes | None = None

    def coins(self, policy: Policy | Rule, start_ms: int, rate_nano: int, asked: bool) -> bool:  # noqa: FBT001, ARG002 (as of many)
        """Return whether the coin allows a publication at ``rate_nano``."""
        return happens_rational(coin_stream(self._secret, self._epoch, policy, self._series, start_ms), rate_nano, NANO)

    def differs(
        self,
        policy: Policy,
        start_ms: int,
        level: WindowLevel,
        cells: RawCells,
        released: ReleasedCells,
        spend_nano: int,
    ) -> bool:
        """Return whether the cells differ enough from the last released cells (`mechanisms.differs`)."""
        stream = dissimilarity_stream(self._secret, self._epoch, policy, self._series, start_ms, level, cells, released)
        return differs(stream, level, cells, released, spend_nano)

    def noise(self, policy: Policy | Rule, start_ms: int, spend_nano: int, cells: RawCells) -> ReleasedCells:
        """Return the cells with noise of the scale that ``spend_nano`` allows."""
        seed, series = self._seed, self._series
        if seed is None:
            stream = noise_stream(self._secret, self._epoch, policy, series, start_ms, spend_nano, cells)
        else:
            stream = closing_stream(seed, policy, series, start_ms, spend_nano, cells)
        return policy.kind.perturb(stream, cells, spend_nano)


@final
class Draws:
    """The bits of one event for each of many series under one epoch's key; ``names`` are UTF-8."""

    def __init__(self, secret: bytes, epoch: int, names: Sequence[bytes]) -> None:
        self._secret, self._epoch, self._names = secret, epoch, names

    def coins(self, policy: Rule, starts_ms: Ints, rates_nano: Ints, asked: Flags) -> Flags:
        """Return whether the coin of each event that was ``asked`` about allows a publication at its rate."""
        (at,) = np.nonzero(asked)
        names, starts, rates = [self._names[place] for place in at.tolist()], starts_ms[at].tolist(), rates_nano[at]
        messages = map(coin_message, repeat(self._epoch), starts, names)
        words = first_words(keyed_hash(self._secret, COIN, policy.identity), messages)
        happens, sure = happens_quickly(words.astype(np.float64), rates, NANO)
        found = np.asarray(happens)
        for n in np.flatnonzero(~np.asarray(sure)).tolist():
            one = Draw(self._secret, self._epoch, names[n].decode())
            found[n] = one.coins(policy, starts[n], int(rates[n]), asked=True)
        allowed = np.ones(len(asked), np.bool_)
        allowed[at] = found
        return allowed

    def noise(self, policy: Rule, starts_ms: Ints, spends_nano: Ints, cells: tuple[Ints]) -> tuple[Ints]:
        """Return the noisy, saturated cells, with the noise that each spend allows; 0 where nothing is spent."""
        # PRIVACY: same argument as for `Number.perturb` and `noise_stream`: each raw cell leaves only in a keyed hash
        # and with discrete Laplace noise of rate e/D. Whether doubles suffice to decide a draw depends on the draws,
        # not on the cells.
        (at,) = np.nonzero(spends_nano)
        names, starts, paid = [self._names[place] for place in at.tolist()], starts_ms[at].tolist(), spends_nano[at]
        spends, own, rate = paid.tolist(), cells[0][at], policy.kind.sensitivity * NANO
        messages = map(noise_message, repeat(self._epoch), starts, spends, names, map(_CELL, own.tolist()))
        drawn, sure = discrete_laplace_by(
            first_words(keyed_hash(self._secret, NOISE, policy.identity), messages), paid, rate
        )
        for n in np.flatnonzero(~sure).tolist():
            raw, name = RawCells((int(own[n]),)), names[n].decode()
            stream = noise_stream(self._secret, self._epoch, policy, name, starts[n], spends[n], raw)
            exact = discrete_laplace(stream, spends[n], rate)
            drawn[n] = max(-2 * LARGEST_CELL, min(exact, 2 * LARGEST_CELL))  # beyond this the sum saturates anyway
        found = np.zeros(len(spends_nano), np.int64)
        found[at] = saturated(own + drawn)
        return (found,)
