"""What steps draw under the noise key: coins and noise of one event, or of one event of each of many series.

Both draw the same: the quick sampling of many falls back to the exact one of one, and gives what that would.
"""

from collections.abc import Sequence
from struct import Struct
from typing import Final, final

import numpy as np

from stream_app.privacy.amounts import Flags, Ints
from stream_app.privacy.guard import WindowLevel
from stream_app.privacy.kinds.axis import LARGEST_CELL, saturated
from stream_app.privacy.noise.mechanisms import differs, discrete_laplace, discrete_laplace_by
from stream_app.privacy.noise.randomness import first_words, happens_quickly, happens_rational, keyed_hash
from stream_app.privacy.noise.streams import (
    COIN,
    NOISE,
    closing_stream,
    coin_messages,
    coin_stream,
    dissimilarity_stream,
    noise_messages,
    noise_stream,
)
from stream_app.privacy.policy import Policy
from stream_app.privacy.rule import Rule
from stream_app.privacy.values import NANO, RawCells, ReleasedCells

_CELL: Final = Struct(">q").pack


@final
class Draw:
    """The bits of one event under the key of its epoch; its noise is drawn from ``seed`` where that is given."""

    __slots__ = ("_epoch", "_secret", "_seed", "_series")

    def __init__(self, secret: bytes, epoch: int, series: str, seed: bytes | None = None) -> None:
        self._secret: Final = secret
        self._epoch: Final = epoch
        self._series: Final = series
        self._seed: Final = seed

    def coins(self, policy: Policy | Rule, start_ms: int, rate_nano: int, asked: bool) -> bool:  # noqa: FBT001, ARG002 (as of many)
        """Return whether the coin allows a publication at a rate."""
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
        """Return whether the cells differ enough from those last released (`mechanisms.differs`)."""
        stream = dissimilarity_stream(self._secret, self._epoch, policy, self._series, start_ms, level, cells, released)
        return differs(stream, level, cells, released, spend_nano)

    def noise(self, policy: Policy | Rule, start_ms: int, spend_nano: int, cells: RawCells) -> ReleasedCells:
        """Return the cells with the noise that the spend buys."""
        seed, series = self._seed, self._series
        if seed is None:
            stream = noise_stream(self._secret, self._epoch, policy, series, start_ms, spend_nano, cells)
        else:
            stream = closing_stream(seed, policy, series, start_ms, spend_nano, cells)
        return policy.kind.perturb(stream, cells, spend_nano)


@final
class Draws:
    """The bits of one event of each of many series under the key of one epoch; ``names`` are these in UTF-8."""

    def __init__(self, secret: bytes, epoch: int, names: Sequence[bytes]) -> None:
        self._secret, self._epoch, self._names = secret, epoch, names

    def coins(self, policy: Rule, starts_ms: Ints, rates_nano: Ints, asked: Flags) -> Flags:
        """Return whether the coin of each event allows a publication at its rate, where that is ``asked``."""
        (at,) = np.nonzero(asked)
        names, starts, rates = [self._names[place] for place in at.tolist()], starts_ms[at].tolist(), rates_nano[at]
        words = first_words(keyed_hash(self._secret, COIN, policy.identity), coin_messages(self._epoch, starts, names))
        happens, sure = happens_quickly(words.astype(np.float64), rates, NANO)
        found = np.asarray(happens)
        for n in np.flatnonzero(~np.asarray(sure)).tolist():
            one = Draw(self._secret, self._epoch, names[n].decode())
            found[n] = one.coins(policy, starts[n], int(rates[n]), asked=True)
        allowed = np.ones(len(asked), np.bool_)
        allowed[at] = found
        return allowed

    def noise(self, policy: Rule, starts_ms: Ints, spends_nano: Ints, cells: tuple[Ints]) -> tuple[Ints]:
        """Return the cells with the noise that each spend buys, saturated; 0 where nothing is spent."""
        # PRIVACY: as `Number.perturb` and `noise_stream`: each raw cell leaves in a keyed hash, and with discrete
        # Laplace noise of rate e/D. What doubles do not decide depends on the draws, not on the cells.
        (at,) = np.nonzero(spends_nano)
        names, starts, paid = [self._names[place] for place in at.tolist()], starts_ms[at].tolist(), spends_nano[at]
        spends, own, rate = paid.tolist(), cells[0][at], policy.kind.sensitivity * NANO
        messages = noise_messages(self._epoch, starts, spends, names, map(_CELL, own.tolist()))
        drawn, sure = discrete_laplace_by(
            first_words(keyed_hash(self._secret, NOISE, policy.identity), messages), paid, rate
        )
        for n in np.flatnonzero(~sure).tolist():
            raw, name = RawCells((int(own[n]),)), names[n].decode()
            stream = noise_stream(self._secret, self._epoch, policy, name, starts[n], spends[n], raw)
            exact = discrete_laplace(stream, spends[n], rate)
            drawn[n] = max(-2 * LARGEST_CELL, min(exact, 2 * LARGEST_CELL))  # beyond it the sum saturates anyway
        found = np.zeros(len(spends_nano), np.int64)
        found[at] = saturated(own + drawn)
        return (found,)
