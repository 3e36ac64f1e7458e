"""Faults that range ends, short histories and single scores miss, each a replaced piece of the decision."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from math import floor, log

from stream_app.deciding.collection import Collection
from stream_app.deciding.context import Context
from stream_app.deciding.decision import decide
from stream_app.deciding.outcome import Outcome, ProcessedRecord
from stream_app.deciding.rows import Lookup, SeriesRow
from stream_app.formats import wire
from stream_app.formats.records import InputRecord, Observation
from stream_app.privacy.kinds import Kind, Number
from stream_app.privacy.noise.draws import coin_stream
from stream_app.privacy.noise.randomness import FAST_BITS, BitStream
from stream_app.privacy.values import NANO, RawCells, ReleasedCells, is_number
from tests.verify.faults import cheating, replaced_policy
from tests.verify.tried import Plant


@dataclass(frozen=True, slots=True)
class ParityKept(Number):
    """Adds only even noise, so that a measurement is odd if the raw cell is."""

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Return the cell plus noise whose last bit is cleared."""
        (fresh,) = Number.perturb(self, stream, RawCells((0,)), spend_nano)
        return ReleasedCells((cells[0] + (fresh & ~1),))


@dataclass(frozen=True, slots=True)
class Cut(Number):
    """Cuts the noise off at four scales."""

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Return the cell plus noise within four scales."""
        most = 4 * self.sensitivity * NANO // spend_nano
        (fresh,) = Number.perturb(self, stream, RawCells((0,)), spend_nano)
        return ReleasedCells((cells[0] + max(-most, min(fresh, most)),))


def made(kind: type[Number]) -> Callable[[Kind], Kind]:
    """Return a function that turns a number into a faulty kind."""

    def change(number: Kind) -> Kind:
        assert isinstance(number, Number)
        return kind(number.axis, number.sensitivity, number.lower, number.upper, number.clamped, number.substitute)

    return change


def bare(asked: Callable[[SeriesRow, Observation], bool]) -> Plant:
    """Plant releases whose measurement and value are the raw ones, if ``asked``."""

    def plant(row: SeriesRow) -> AbstractContextManager[SeriesRow]:
        def cheat(context: Context, lookup: Lookup, collection: Collection, record: InputRecord) -> Outcome:
            found = wire.decode(record.value)
            outcome = decide(context, lookup, collection, record)
            if not isinstance(outcome, ProcessedRecord) or outcome.decision != "perturbed":
                return outcome
            if not isinstance(found, Observation):
                return outcome
            before = lookup(found.series)
            assert before is not None
            if not asked(before, found):
                return outcome
            kind = before.policy.kind
            cells = kind.quantise(found.value)
            assert cells is not None
            assert outcome.release is not None
            release = json.loads(outcome.release)
            release["value"] = release["measurement"] = kind.publish(ReleasedCells(tuple(cells)))
            return ProcessedRecord(
                outcome.row, outcome.entries, wire.dump(release), outcome.decision, outcome.spent_nano
            )

        return cheating(cheat)(row)

    return plant


substitute_bare = bare(lambda _, found: not is_number(found.value))
POLICY_ENTRY, FIFTH = 1, 5
bare_from_the_fifth = bare(lambda before, _: before.sequence - POLICY_ENTRY + 1 >= FIFTH)


COIN_BITS = 64


@dataclass(frozen=True, slots=True)
class OfBits(Number):
    """Draws its noise from the bits that decided the coin."""

    coin: int = 0
    """The 64 bits that the coin compared with the rate, the first one highest."""

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Return the cell plus noise by inversion of the coin's own uniform number."""
        del stream
        bits = (self.coin >> (COIN_BITS - FAST_BITS)) + 0.5
        scale = self.sensitivity * NANO / spend_nano
        noise = floor(-log(bits / 2**FAST_BITS) * scale)
        return ReleasedCells((cells[0] + (-noise if self.coin & 1 else noise),))


def coin_reused(row: SeriesRow) -> AbstractContextManager[SeriesRow]:
    """Plant noise drawn from the coin's bits: published noise comes only from bits whose coin said yes."""

    def cheat(context: Context, lookup: Lookup, collection: Collection, record: InputRecord) -> Outcome:
        found = wire.decode(record.value)
        assert isinstance(found, Observation)
        before = lookup(found.series)
        assert before is not None
        if before.sequence < POLICY_ENTRY + 2:  # the coin compares two measurements: before, it always falls alike
            return decide(context, lookup, collection, record)
        policy, kind = before.policy, before.policy.kind
        assert isinstance(kind, Number)
        start_ms = found.timestamp_ms // policy.step_ms * policy.step_ms
        coin = coin_stream(context.keys.secret, 0, policy, found.series, start_ms)
        parts = (kind.axis, kind.sensitivity, kind.lower, kind.upper, kind.clamped, kind.substitute)
        cheated = replaced_policy(before, kind=OfBits(*parts, coin.take(COIN_BITS)))
        outcome = decide(context, lambda _: cheated, collection, record)
        if isinstance(outcome, ProcessedRecord):
            row = replace(outcome.row, policy=policy)
            return ProcessedRecord(row, outcome.entries, outcome.release, outcome.decision, outcome.spent_nano)
        return outcome

    return cheating(cheat)(row)
