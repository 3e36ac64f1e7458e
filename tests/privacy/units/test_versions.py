"""Versions with units in steps: which are weaker, when one may spend, and which open steps it takes over."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import gcd
from typing import NamedTuple

import pytest

from stream_app.privacy import fold
from stream_app.privacy.policy import Policy, policy_of
from stream_app.privacy.reason import Rejection
from stream_app.privacy.state import State
from stream_app.privacy.units.steps import decide_units, takes_over
from stream_app.privacy.values import Raw
from stream_app.privacy.weaker import less_protected
from tests.privacy.moved import adopted, begun
from tests.privacy.units.made import CATEGORY, NUMBER, STATISTICS, policy, units
from tests.run import KEYS, UNIFORM

HORIZON_MS = 24


class Version(NamedTuple):
    """Units of so many ms, in steps and windows of so many units; ``per_step`` 0: plain steps of that length."""

    length: int
    per_step: int
    window: int
    offset: int = 0

    def policy(self, version: int) -> Policy:
        """Return the policy of it."""
        if self.per_step:
            return policy(
                per_step=self.per_step, window=self.window, unit_ms=self.length, offset_ms=self.offset, version=version
            )
        protection = {"level": "landmark", "step": self.length, "window": self.window}
        return policy_of({"epsilon": 1.0, "protection": protection, "scheme": UNIFORM, "value": NUMBER}, version)

    def windows(self) -> Iterator[range]:
        """Yield every window, in ms."""
        wide = self.window * self.length
        return (range(start, start + wide) for start in range(self.offset - wide, HORIZON_MS, self.length))

    def touched(self, span: range, among: range) -> int:
        """Return how many of its units, or steps, overlap both spans."""
        met = {(ms - self.offset) // self.length for ms in span if ms in among}
        return len(met)

    def holds(self, former: "Version") -> bool:
        """Return whether each window of the former version is within one of its own."""
        everywhere = range(-HORIZON_MS, 3 * HORIZON_MS)
        return all(self.touched(span, everywhere) <= self.window for span in former.windows())


def decided(version: Version, ruling: Policy, state: State, index: int) -> tuple[State, int]:
    """Return the state after a step with a reading in each unit, and what it spent."""
    if version.per_step:
        stepped = decide_units(KEYS, ruling, state, "a", index, units([1] * version.per_step))
    else:
        found = fold.step(KEYS, ruling, state, "a", ruling.start_of(index), Raw(1))
        stepped = None if isinstance(found, Rejection) else found
    assert stepped is not None
    return stepped.state, stepped.spend_nano


class Border(NamedTuple):
    """The first step of a version, then the steps of the next one: each with its span in ms and its spend."""

    before: Version
    after: Version
    first: tuple[range, int]
    later: list[tuple[range, int]]

    @classmethod
    def crossed(cls, before: Version, after: Version, *, waits: bool = True) -> "Border":
        """Return what two versions of one budget spend; ``waits``: as in the program."""
        old, new = before.policy(1), after.policy(2)
        state, spent = decided(before, old, begun(old), 0)
        first = (range(old.start_of(0), old.start_of(1)), spent)
        state = adopted(new, old, state)
        if not waits:
            state = replace(state, guard=state.guard.unwaiting())
        later = []
        index = -((new.offset_ms - state.clock.decided_end_ms) // new.step_ms)
        while new.start_of(index) < HORIZON_MS:
            state, spent = decided(after, new, state, index)
            later.append((range(new.start_of(index), new.start_of(index + 1)), spent))
            index += 1
        return cls(before, after, first, later)

    def lost(self, span: range) -> Fraction:
        """Return the largest loss of histories that differ in a span of time, in shares of one budget."""
        lost = Fraction(0)
        for version, steps in ((self.before, [self.first]), (self.after, self.later)):
            for step, spent in steps:
                shares = version.window if version.per_step else 1
                lost += Fraction(spent * version.touched(span, step), shares)
        return lost / 10**9

    def largest(self) -> Fraction:
        """Return the largest loss of neighbours under either version that are neighbours under the other one too."""
        sides = ((self.before, self.after), (self.after, self.before))
        return max(
            (self.lost(span) for one, other in sides if other.holds(one) for span in one.windows()), default=Fraction(0)
        )


VERSIONS = [
    Version(length, per_step, window, offset)
    for length, per_step, window in product((1, 2), (1, 2), (1, 2, 3))
    for offset in (0, 1)
    if offset < length * per_step
]
PLAIN = [Version(length, 0, window) for length in (1, 2, 3) for window in (1, 2)]


@pytest.mark.parametrize("before", [*VERSIONS, *PLAIN], ids=str)
def test_no_border_of_versions_loses_more_than_a_budget(before: Version) -> None:
    """For any two consecutive versions, histories that differ in one window of either lose at most one budget."""
    for after in VERSIONS if not before.per_step else [*VERSIONS, *PLAIN]:
        assert Border.crossed(before, after).largest() <= 1


def test_a_border_needs_its_wait() -> None:
    """Without a wait, windows across the border lose more: longer windows, and units on another grid."""
    broken = [
        (before, after)
        for before, after in product(VERSIONS, VERSIONS)
        if Border.crossed(before, after, waits=False).largest() > 1
    ]
    assert (Version(1, 2, 3), Version(2, 1, 2)) in broken
    assert all(
        (one.length, one.window, one.offset) != (other.length, other.window, other.offset) for one, other in broken
    )
    assert any(other.offset != one.offset for one, other in broken)


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_equal_units_in_equal_windows_need_not_wait(version: Version) -> None:
    """A renewal spends immediately, even in steps of another length; both lose exactly one budget together."""
    for after in (version, version._replace(per_step=3 - version.per_step)):
        if after.offset >= after.length * after.per_step:
            continue
        border = Border.crossed(version, after)
        assert all(spent for _, spent in border.later)
        assert border.largest() == 1


def test_a_wait_ends_a_window_after_the_last_step_that_was_spent_on() -> None:
    """The longer window of both counts; steps and versions without a spend cause no wait; none is forgotten."""
    old, new = policy(per_step=2, window=3), policy(per_step=1, window=2, unit_ms=2000, version=2)
    state, _ = decided(Version(1000, 2, 3), old, begun(old), 0)
    moved = adopted(new, old, state)
    assert moved.guard.window.opens_ms == 2000 + 4000
    same = adopted(replace(new, version=3), new, moved, may_weaken=False)
    assert same.guard.window.opens_ms == 2000 + 4000
    other = adopted(policy(per_step=1, window=9, version=4), new, same)
    assert other.guard.window.opens_ms == 2000 + 9000


GRIDS = [
    Version(length, 2, window, offset)
    for length, window in product((1, 2, 3, 4), (1, 2, 3))
    for offset in range(2 * length)
]


@pytest.mark.parametrize("former", GRIDS, ids=str)
def test_a_version_is_weaker_if_a_window_is_in_none_of_its_own(former: Version) -> None:
    """Over all small grids, the rule is exactly whether each former window is within one of the new windows."""
    old = former.policy(1)
    state = begun(old)
    for version in GRIDS:
        assert ("window" in less_protected(version.policy(2), old, state)) is not version.holds(former)


def test_a_shifted_grid_loses_more() -> None:
    """Without the offset term, versions count as not weaker although a former window loses more under them."""
    accepted = [
        (former, version)
        for former, version in product(GRIDS, GRIDS)
        if version.window * version.length >= needed(former, version) and not version.holds(former)
    ]
    everywhere = range(HORIZON_MS)
    losses = [
        Fraction(max(version.touched(span, everywhere) for span in former.windows()), version.window)
        for former, version in accepted
    ]
    assert max(losses) == 2
    assert min(losses) > 1


def needed(former: Version, version: Version) -> int:
    """Return how long a window would have to be on grids that begin at the same time."""
    return former.window * former.length + version.length - gcd(former.length, version.length)


def test_landmarks_to_come_are_compared_in_time() -> None:
    """A version on another grid covers them if its own units do."""
    old = policy(per_step=2, landmarks=(5,), unit_ms=4)
    for offset, covered in ((0, True), (2, False)):
        own = (5,) if not offset else (4,)
        new = policy(per_step=2, landmarks=own, unit_ms=4, window=3, offset_ms=offset, version=2)
        assert ("landmarks" in less_protected(new, old, begun(old))) is not covered
    both = policy(per_step=2, landmarks=(4, 5), unit_ms=4, window=3, offset_ms=2, version=2)
    assert not less_protected(both, old, begun(old))


@pytest.mark.parametrize("statistic", STATISTICS)
def test_any_statistic_may_follow_a_plain_number(statistic: str) -> None:
    """A unit's value neighbours all others, like that of a plain step; other kinds cannot follow each other."""
    plain = policy_of(
        {
            "epsilon": 1.0,
            "protection": {"level": "landmark", "step": 1000},
            "scheme": UNIFORM,
            "value": {name: part for name, part in STATISTICS[statistic].items() if name in {"kind", "categories"}}
            | ({} if statistic == "categories" else {"lower": 0, "upper": 2, "resolution": 1}),
        },
        1,
    )
    units = policy(statistic, version=2)
    assert less_protected(units, plain, begun(plain)) == ()
    other = policy("mean" if statistic == "categories" else "categories", unit_ms=units.grid.length_ms, version=3)
    assert less_protected(other, units, begun(units)) == ("neighbours",)


OTHERS: dict[str, dict[str, object]] = {
    "unit": {"unit_ms": 500, "per_step": 4},
    "step": {"per_step": 4},
    "window": {"window": 2},
    "offset": {"offset_ms": 1000},
    "statistic": {"value": STATISTICS["sum"]},
    "range": {"value": NUMBER | {"statistic": "mean", "upper": 3}},
    "resolution": {"value": NUMBER | {"statistic": "mean", "resolution": 0.5}},
    "by": {"value": STATISTICS["mean by hour"]},
    "kind": {"value": CATEGORY},
}
ALIKE: dict[str, dict[str, object]] = {
    "epsilon": {"epsilon": 0.5},
    "scheme": {"scheme": {"name": "balanced"}},
    "landmarks": {"landmarks": (1, 2)},
    "clamp": {"value": NUMBER | {"statistic": "mean", "clamp": False}},
    "invalid": {"value": NUMBER | {"statistic": "mean", "invalid": 1}},
}


@pytest.mark.parametrize("members", [*OTHERS.values(), *ALIKE.values()], ids=[*OTHERS, *ALIKE])
def test_a_version_takes_open_steps_over_that_it_reads_alike(members: dict[str, object]) -> None:
    """Any change of what a unit or step contains drops them; changes of budget, scheme and landmarks do not."""
    before, after = policy(), policy(version=2, **members)  # type: ignore[arg-type]  # each of its own type
    assert takes_over(after, before) is (members in ALIKE.values())


def test_bins_and_edges_count_too() -> None:
    """For statistics with more members, these are edges, ends of a share, and `by`, but not the zone."""
    hour = STATISTICS["mean by hour"]
    for one, other, alike in (
        (STATISTICS["histogram"], STATISTICS["histogram"] | {"edges": [1]}, False),
        (STATISTICS["share"], STATISTICS["share"] | {"to": 3}, False),
        (CATEGORY, CATEGORY | {"categories": ["home", "work", "elsewhere"]}, False),
        (hour, hour | {"by": "weekday"}, False),
        (hour, hour | {"transitions": [[0, 3_600_000]]}, True),
    ):
        assert takes_over(policy(value=other, version=2), policy(value=one)) is alike
    plain = policy_of({"epsilon": 1.0, "protection": {"level": "event"}, "scheme": UNIFORM, "value": NUMBER}, 1)
    assert not takes_over(plain, plain)
