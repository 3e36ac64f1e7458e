"""Faults, each a replaced piece of the decision path, given as a value: production code has no branch for them."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from stream_app.deciding.context import Context
from stream_app.deciding.counters import Collection
from stream_app.deciding.decision import Lookup, decide
from stream_app.deciding.outcome import Decided, Outcome
from stream_app.deciding.rows import SeriesRow
from stream_app.formats import wire
from stream_app.formats.records import InputRecord, Observation
from stream_app.privacy.guard import Guard, WindowLevel
from stream_app.privacy.kinds import Category, Counts, HiddenMean, Kind, Location, Mean, Number, Sum, Vector
from stream_app.privacy.kinds.axis import LARGEST_CELL, Axis
from stream_app.privacy.landmarks import LandmarkSet
from stream_app.privacy.level import measured
from stream_app.privacy.noise.randomness import BitStream
from stream_app.privacy.policy import Policy
from stream_app.privacy.values import NANO, RawCells, ReleasedCells
from stream_app.verify.neighbours import extremes
from stream_app.verify.trial import Subject

LONG_NANO = 10**15
"""An intrusion so large that its noise is 0."""


def honest(row: SeriesRow) -> Subject:
    """Plant nothing."""
    return Subject(row)


def under(change: Callable[[Policy], Policy]) -> Callable[[SeriesRow], Subject]:
    """Plant another policy than the one that was promised."""
    return lambda row: Subject(row.replaced(policy=change(row.policy)))


def replaced_policy(row: SeriesRow, **members: Any) -> SeriesRow:
    """Return a row whose policy has other members."""
    return row.replaced(policy=replace(row.policy, **members))


def of_kind(change: Callable[[Kind], Kind]) -> Callable[[SeriesRow], Subject]:
    """Plant another kind."""
    return under(lambda policy: replace(policy, kind=change(policy.kind)))


def guarded(guard: type[Guard]) -> Callable[[SeriesRow], Subject]:
    """Plant another guard."""
    return lambda row: Subject(row.replaced(state=row.state.replaced(guard=guard(*row.state.guard))))


def scaled(share: Fraction) -> Callable[[SeriesRow], Subject]:
    """Plant noise of so small a share of its scale."""

    def change(kind: Kind) -> Kind:
        match kind:
            case Number() | Counts():
                return replace(kind, sensitivity=int(kind.sensitivity * share))
            case Sum() | Mean() | HiddenMean():
                return replace(kind, item=replace(kind.item, sensitivity=int(kind.item.sensitivity * share)))
            case Location():
                return replace(kind, rate_per_nano=kind.rate_per_nano / share)
            case _:
                raise TypeError("this kind has no scale")

    return of_kind(change)


@dataclass(frozen=True, slots=True)
class Truthful(Category):
    """Tells the truth as if a tenth more was spent."""

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Return too true an answer."""
        return Category(self.categories).perturb(stream, cells, spend_nano * 11 // 10)


def truthful(kind: Kind) -> Kind:
    """Return the kind that tells the truth too often."""
    assert isinstance(kind, Category)
    return Truthful(kind.categories)


@dataclass(frozen=True, slots=True)
class OnePartBare(Vector):
    """Adds no noise to the last part."""

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Return the last part as it is."""
        return ReleasedCells((*Vector(self.names, self.parts).perturb(stream, cells, spend_nano)[:-1], cells[-1]))


def one_part_bare(kind: Kind) -> Kind:
    """Return the vector that adds no noise to one part."""
    assert isinstance(kind, Vector)
    return OnePartBare(kind.names, kind.parts)


def one_share_whole(kind: Kind) -> Kind:
    """Return the vector whose first part has the noise of the whole spend, not of its share."""
    assert isinstance(kind, Vector)
    first = replace(kind.parts[0], sensitivity=kind.parts[0].sensitivity // len(kind.parts))
    return replace(kind, parts=(first, *kind.parts[1:]))


def unclamped_item(item: Number) -> Number:
    """Return an item whose range ends nowhere."""
    return replace(item, axis=Axis(item.axis.cells_per_unit, -LARGEST_CELL, LARGEST_CELL))


def unclamped(kind: Kind) -> Kind:
    """Return a number whose range ends nowhere."""
    assert isinstance(kind, Number)
    return unclamped_item(kind)


def windowed(**members: Any) -> Callable[[SeriesRow], Subject]:
    """Plant another window level."""

    def change(policy: Policy) -> Policy:
        assert isinstance(policy.protection, WindowLevel)
        return replace(policy, protection=policy.protection._replace(**members))

    return under(change)


class Uncharged(Guard):
    """Spends what private looks at a dissimilarity cost, too."""

    def spend(
        self, level: WindowLevel | None, step: int, start_ms: int, *, landmark: bool, spend_nano: int
    ) -> Guard | None:
        """Allow whatever the spends alone leave."""
        assert level is not None
        whole = self.budget_nano - self.window.spent_nano(level, step)
        if landmark or spend_nano > whole or start_ms < self.window.opens_ms:
            return None
        return self._replace(window=self.window._replace(spends=(*self.window.spends, (step, spend_nano))))


def uncharged(row: SeriesRow) -> Subject:
    """Plant a window that charges nothing for private looks, and a scheme that spends all of the budget."""
    policy, state = row.policy, row.state
    assert isinstance(policy.protection, WindowLevel)
    protection = policy.protection._replace(spendable_nano=policy.epsilon_nano)
    return Subject(
        row.replaced(policy=replace(policy, protection=protection), state=state.replaced(guard=Uncharged(*state.guard)))
    )


def bare(policy: Policy) -> Policy:
    """Return a policy whose counters start with no noise worth the name."""
    assert policy.collect is not None
    return replace(policy, collect=replace(policy.collect, intrusion_nano=LONG_NANO))


def shown_absence(policy: Policy) -> Policy:
    """Return a policy that repeats the last release, at no cost, where a value is to hide that there was no reading."""
    assert policy.within is not None
    return replace(policy, within=replace(policy.within, absent="approximated"))


class LandmarkSpentTwice(Guard):
    """Gives a landmark what another one has spent already."""

    def spend(
        self, level: WindowLevel | None, step: int, start_ms: int, *, landmark: bool, spend_nano: int
    ) -> Guard | None:
        """Allow as ever, and forget what landmarks spend."""
        guard = Guard.spend(self, level, step, start_ms, landmark=landmark, spend_nano=spend_nano)
        return guard and LandmarkSpentTwice(*(self if landmark else guard))


class RegularUncounted(Guard):
    """Gives landmarks what a regular step has spent already."""

    def spend(
        self, level: WindowLevel | None, step: int, start_ms: int, *, landmark: bool, spend_nano: int
    ) -> Guard | None:
        """Allow as ever, and forget what regular steps spend."""
        guard = Guard.spend(self, level, step, start_ms, landmark=landmark, spend_nano=spend_nano)
        return guard and RegularUncounted(*(guard if landmark else self))


class LateUncharged(Guard):
    """Takes a passed step for a landmark at no cost."""

    def spend(
        self, level: WindowLevel | None, step: int, start_ms: int, *, landmark: bool, spend_nano: int
    ) -> Guard | None:
        """Allow and count as ever."""
        guard = Guard.spend(self, level, step, start_ms, landmark=landmark, spend_nano=spend_nano)
        return guard and LateUncharged(*guard)

    def charge_passed(self, level: WindowLevel | None, steps: int, added: LandmarkSet) -> Guard | None:
        """Charge nothing."""
        assert level is None or level.landmarks
        assert len(added) >= steps >= 0
        return self


def coin_that_sees(row: SeriesRow) -> Subject:
    """Plant a coin that falls by the value: at the one end of the range few steps are published, at others all."""
    kind = row.policy.kind
    near, _ = extremes(kind).cells

    def cheat(context: Context, lookup: Lookup, collection: Collection, record: InputRecord) -> Outcome:
        found = wire.decode(record.value)
        assert isinstance(found, Observation)
        rate_nano = NANO // 10 if kind.quantise(found.value) == near else NANO

        def seeing(series: str) -> SeriesRow | None:
            row = lookup(series)
            if row is None or row.state.latest.rate_nano == NANO:
                return row
            return row.replaced(state=row.state.replaced(rate_nano=rate_nano))

        return decide(context, seeing, collection, record)

    return Subject(row, cheat)


def _rewritten(outcome: Outcome, kind: Kind, cells: ReleasedCells) -> Outcome:
    """Return an outcome in whose release other cells stand as the value."""
    assert isinstance(outcome, Decided)
    assert outcome.release is not None
    release = json.loads(outcome.release)
    release["value"] = kind.publish(kind.clamp(cells))
    return Decided(outcome.row, outcome.entries, wire.dump(release), outcome.decision, outcome.spent_nano)


def _cheating(
    decision: str, cells_of: Callable[[SeriesRow, RawCells, int, dict[str, Any]], ReleasedCells]
) -> Callable[[SeriesRow], Subject]:
    """Plant values that are made of raw cells, in the releases of one decision."""

    def plant(row: SeriesRow) -> Subject:
        def cheat(context: Context, lookup: Lookup, collection: Collection, record: InputRecord) -> Outcome:
            found = wire.decode(record.value)
            outcome = decide(context, lookup, collection, record)
            assert isinstance(found, Observation)
            assert isinstance(outcome, Decided)
            before = lookup(found.series)
            if outcome.decision != decision or before is None:
                return outcome
            kind = before.policy.kind
            raw = kind.quantise(found.value)
            assert raw is not None
            entry: Any = wire.load(outcome.entries[-1].value)
            index = found.timestamp_ms // before.policy.step_ms
            return _rewritten(outcome, kind, cells_of(before, raw, index, entry))

        return Subject(row, cheat)

    return plant


def _filtered(before: SeriesRow, raw: RawCells, index: int, entry: dict[str, Any]) -> ReleasedCells:
    elapsed = before.state.elapsed_steps(index)
    _, estimate = measured(
        before.policy.kind, before.state.latest.level, ReleasedCells(tuple(raw)), entry["epsilon_nano"], elapsed
    )
    return estimate


filter_fed_raw = _cheating("perturbed", _filtered)
approximated_raw = _cheating("approximated", lambda _, raw, __, ___: ReleasedCells(tuple(raw)))
