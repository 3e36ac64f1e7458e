"""Landmarks and windows in logs decided by the worker's fold: they hold, but not if anything is changed."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from stream_app.deciding.context import Context, Limits
from stream_app.privacy.guard import Guard, Spend, Window, WindowLevel
from stream_app.privacy.landmarks import LandmarkSet
from tests.audit.test_agreement import assert_theorem
from tests.audit.ways import audit, codes
from tests.audit.written import Written, seal
from tests.run import KEYS, SCHEMES, Run, observation, policy
from tests.suite.speeds import scaled

STEPS = 60
FIGURES = {
    "epsilon_nano": {"share"},
    "landmark_spent_nano": {"landmark-spent"},
    "landmarks_left": {"landmarks-left"},
    "regular_peak_nano": {"regular-peak"},
    "charged_nano": {"charge"},
}
schemes: st.SearchStrategy[dict[str, object]] = st.sampled_from(
    (*SCHEMES.values(), {"name": "bd"}, {"name": "ba"}, {"name": "ba", "minimum": 0.9})
)


@st.composite
def versions(draw: st.DrawFn, number: int) -> dict[str, object]:
    """Return a version with few nano-epsilon: most have windows, some another step length or another level."""
    scheme, step = draw(schemes), draw(st.sampled_from((10, 10, 10, 15)))
    window = draw(st.integers(2, 5) if scheme["name"] in {"bd", "ba"} else st.integers(1, 5))
    level: dict[str, object] = {"level": "landmark", "window": window}
    level["landmarks"] = [at * 10 for at in draw(st.sets(st.integers(0, STEPS), max_size=5))]
    level["spare"] = draw(st.integers(0, 2))
    if window == 1 and scheme["name"] in {"uniform", "adaptive"}:
        other: tuple[dict[str, object], ...] = (level, {"level": "event"}, {"level": "user", "length": 7})
        level = draw(st.sampled_from(other))
    epsilon = float(f"{draw(st.integers(20, 400))}e-9")
    protection = {**level, "step": step}
    return policy("a", number, epsilon=epsilon, protection=protection, scheme=scheme, weaker=True)


@st.composite
def runs(draw: st.DrawFn, guard: type[Guard] = Guard) -> Run:
    """Return a decided log of one series: mostly events, every second one changed, late landmarks and versions."""
    run = Run(Context(KEYS, limits=Limits(lifetime_nano=10**9, accept_weaker_policies=True)), guard)
    run.feed(draw(versions(1)))
    at, number = 0, 1
    for turn in draw(st.lists(st.integers(0, 15), min_size=8, max_size=60)):
        if turn == 15:
            number += 1
            run.feed(draw(versions(number)))
        elif turn >= 12:
            start = max(0, at // 10 + draw(st.integers(-8, 6)))
            span = [start * 10, (start + draw(st.integers(1, 3))) * 10]
            run.feed({"type": "landmarks", "series": "a", "add": [span]})
        else:
            at += 10 * (1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 6)[turn]
            run.feed(observation("a", at, at // 20 % 2 * 10))
    return run


@settings(max_examples=scaled(75))
@given(runs())
def test_they_hold(run: Run) -> None:
    """There is no finding, every version waited, and literal sums over every window keep the guarantee."""
    report = audit(run.ledger, run.releases, 10**9)
    assert report.findings == ()
    assert {remark.code for remark in report.remarks} <= {"weaker-marked"}
    assert_theorem(run.ledger)
    assert_apart(run.ledger)


@settings(max_examples=scaled(60))
@given(runs(), st.data())
def test_every_changed_figure_is_found(run: Run, data: st.DataObject) -> None:
    """A change of one in any entry, with a rewritten chain, is found by the figure's own code."""
    true = Written([json.loads(line) for line in run.ledger], [], 10**9)
    places = [(place, name) for place, entry in enumerate(true.entries) for name in FIGURES if name in entry]
    for place, name in data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=8, unique=True)):
        for change in (-1, 1):
            forged = true.copy()
            forged.entries[place][name] += change
            if forged.entries[place][name] >= (name == "epsilon_nano"):
                assert codes(audit(seal(forged, place).lines(), lifetime_nano=10**9)) & FIGURES[name]


@settings(max_examples=scaled(60))
@given(runs())
def test_a_charge_for_one_of_several_is_found(run: Run) -> None:
    """The peak may not fall either when its step becomes a landmark: another window may have lost as much."""
    true = Written([json.loads(line) for line in run.ledger], [], 10**9)
    for place, entry in enumerate(true.entries):
        if entry["entry"] == "landmarks" and entry["charged_nano"]:
            forged = true.copy()
            forged.entries[place]["regular_peak_nano"] -= 1
            assert "regular-peak" in codes(audit(seal(forged, place).lines(), lifetime_nano=10**9))
            # Half of the charge, in the sum too: it is no share of fewer steps.
            forged = true.copy()
            taken = entry["charged_nano"] // 2 or 1
            forged.entries[place]["charged_nano"] -= taken
            forged.entries[place]["landmark_spent_nano"] -= taken
            assert "charge" in codes(audit(seal(forged, place).lines(), lifetime_nano=10**9))


class _ChargesOnce(Guard):
    """Charges several late landmarks as if they were one."""

    def charge_passed(self, level: WindowLevel | None, steps: int, added: LandmarkSet) -> Guard | None:
        return Guard(*self).charge_passed(level, min(steps, 1), added)


class _LowersTheWindow(Guard):
    """Deducts what it charges from the largest loss of a window."""

    def charge_passed(self, level: WindowLevel | None, steps: int, added: LandmarkSet) -> Guard | None:
        after = Guard(*self).charge_passed(level, steps, added)
        if after is None:
            return None
        charged = after.landmark_spent_nano - self.landmark_spent_nano
        return after._replace(regular_peak_nano=max(0, self.regular_peak_nano - charged))


class _KeepsTheRing(Guard):
    """Leaves late landmarks in the window."""

    def charge_passed(self, level: WindowLevel | None, steps: int, added: LandmarkSet) -> Guard | None:
        after = Guard(*self).charge_passed(level, steps, added)
        return after and after._replace(window=self.window)


def _counting(counted: Callable[[Window, Spend, int], Window]) -> type[Guard]:
    """Return a guard that changes its window again after each publication, given the next window's first step."""

    class Counting(Guard):
        def spend(
            self, level: WindowLevel | None, step: int, start_ms: int, *, landmark: bool, spend_nano: int
        ) -> Guard | None:
            after = Guard(*self).spend(level, step, start_ms, landmark=landmark, spend_nano=spend_nano)
            if after is None or level is None:
                return after
            return after._replace(window=counted(after.window, (step, spend_nano), step - level.steps + 2))

    return Counting


_COUNTING = {
    "a window one step short": _counting(
        lambda window, _, first: window._replace(spends=tuple(one for one in window.spends if one[0] > first))
    ),
    "landmarks count in the window, too": _counting(
        lambda window, spend, _: window._replace(spends=tuple({**dict(window.spends), spend[0]: spend[1]}.items()))
    ),
    "the last spend is charged, not the dearest": _counting(
        lambda window, spend, _: window._replace(peak_nano=spend[1])
    ),
}


@pytest.mark.parametrize("guard", [_ChargesOnce, _LowersTheWindow, _KeepsTheRing, *_COUNTING.values()])
def test_what_another_guard_writes_is_found(guard: type[Guard]) -> None:
    """Each fault is found in some log; the logs of the true guard hold (above)."""
    drawn = settings(max_examples=2000, derandomize=True, database=None, phases=[Phase.generate])
    run = find(runs(guard), lambda run: not audit(run.ledger, lifetime_nano=10**9).holds, settings=drawn)
    assert run.ledger


def spends(ledger: list[bytes]) -> Iterator[tuple[int, int, int, int]]:
    """Yield the steps with spends: version, start and length in ms, and the version's window in steps."""
    rules: dict[str, Any] = {}
    for entry in map(json.loads, ledger):
        if entry["entry"] == "policy":
            rules = entry["parameters"]["protection"]
        elif entry.get("epsilon_nano"):
            yield entry["policy"], entry["timestamp"], rules["step"], rules.get("window") or 1


def assert_apart(ledger: list[bytes]) -> None:
    """Check, by all pairs, that no window of several steps contains spends of two versions."""
    found = [*spends(ledger)]
    for later, start, step, window in found:
        for earlier, before, length, reach in found:
            if earlier < later:
                assert window == 1 or start - (window - 1) * step >= before + length
                assert reach == 1 or start >= before + reach * length
