"""If measurements agree, all else agrees: nothing that leaves the fold knows a raw value in any other way.

Pairs of logs differ only in raw values. Noise is chosen so that both measure the same (agreeing.py); then every byte of
releases, ledger and rejects, every row and every size must be equal. With a substitute for invalid values, even their
validity must not show.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from stream_app.deciding.context import Context, Limits
from stream_app.deciding.outcome import ProcessedRecord, RejectedRecord
from stream_app.privacy.kinds import Kind, Number
from stream_app.privacy.noise.randomness import BitStream
from stream_app.privacy.values import Raw, RawCells, ReleasedCells
from tests.privacy.kinds.agreeing import AgreeingNumber, agreeing
from tests.run import (
    ADAPTIVE,
    BALANCED,
    CATEGORY,
    COUNTS,
    KEYS,
    LOCATION,
    NUMBER,
    SKIP,
    UNIFORM,
    VECTOR,
    Run,
    observation,
    policy,
)

pytestmark = pytest.mark.slow

HOUR = 3_600_000
SERIES = "home-7"
Values = Callable[[np.random.Generator], object]
Measured = Callable[[np.random.Generator], tuple[int, ...]]
Swap = Callable[[Kind, Iterator[tuple[int, ...]]], Kind]

VALUES: dict[str, tuple[dict[str, object], Values, object, Measured]] = {
    "number": (
        NUMBER,
        lambda of: round(float(of.uniform(-5, 15)), int(of.integers(0, 6))),
        3,
        lambda of: (int(of.integers(-9_000, 19_000)),),
    ),
    "counts": (
        COUNTS,
        lambda of: {"walk": int(of.integers(0, 20)), "ride": int(of.integers(0, 3))},
        None,
        lambda of: tuple(int(cell) for cell in of.integers(-5, 25, 3)),
    ),
    "location": (
        LOCATION,
        lambda of: {"latitude": float(of.uniform(-10.96, -10.95)), "longitude": float(of.uniform(-37.11, -37.1))},
        None,
        lambda of: (int(of.integers(-404_960, -404_780)), int(of.integers(-121_900, -121_720))),
    ),
    "category": (
        CATEGORY,
        lambda of: ["none", "contact", "ill", True][of.integers(0, 4)],
        "ill",
        lambda of: (int(of.integers(0, 4)),),
    ),
    "vector": (
        VECTOR,
        lambda of: {"pulse": float(of.uniform(0, 250)), "oxygen": round(float(of.uniform(0.6, 1.1)), 3)},
        {"pulse": 70, "oxygen": 0.97},
        lambda of: (int(of.integers(40, 130)), int(of.integers(-160, 410))),
    ),
}
INVALID: list[object] = ["", None, [], {"latitude": 1}, {"swim": 2}, {}, -1, [1.5], {"walk": -3}, 10**200]
SCHEMES = [UNIFORM, ADAPTIVE, ADAPTIVE, SKIP, BALANCED]
WINDOW_SCHEMES: list[dict[str, object]] = [UNIFORM, {"name": "bd"}, {"name": "ba"}]
"""Schemes that see only released values; a private dissimilarity is a mechanism (test_dissimilarity.py)."""


@dataclass
class Log:
    """A log without values, and how to make them."""

    records: list[dict[str, object]]
    value: Values
    substituted: bool
    targets: list[tuple[int, ...]]


def _log(of: np.random.Generator, kind: str) -> Log:
    """Return a random log: versions, registrations, closings, late and doubled events; observations lack values."""
    value, raw, substitute, measured = VALUES[kind]
    substituted = bool(of.random() < 0.5) and kind in {"number", "category", "vector"}
    value = {**value, "invalid": substitute} if substituted else value
    records: list[dict[str, object]] = []
    now = version = 0
    for _ in range(int(of.integers(6, 18))):
        move = of.random()
        if version == 0 or move < 0.05:
            version += 1
            scheme = SCHEMES[of.integers(0, len(SCHEMES))]
            protection: dict[str, object] = {"level": "landmark", "step": HOUR, "spare": int(of.integers(0, 2))}
            protection["landmarks"] = [(now + int(gap)) * HOUR for gap in of.integers(1, 20, 3)]
            if of.random() < 0.2:
                protection = {"level": "event", "step": HOUR}
            elif of.random() < 0.2 and scheme in (UNIFORM, ADAPTIVE):
                protection = {"level": "user", "step": HOUR, "length": 30}
            elif of.random() < 0.3:
                protection = {"level": "w-event", "step": HOUR, "window": int(of.integers(1, 6))}
                scheme = WINDOW_SCHEMES[of.integers(0, len(WINDOW_SCHEMES))]
            epsilon = 2.0 if version == 1 else 0.5
            filtered = "level" if of.random() < 0.5 else "none"
            parts = {"protection": protection, "scheme": scheme, "value": value, "filter": filtered}
            records.append(policy(SERIES, version, epsilon=epsilon, weaker=True, **parts))
        elif move < 0.1:
            add = [(now + int(gap)) * HOUR for gap in of.integers(-2, 9, 2) if now + gap >= 0]
            records.append({"type": "landmarks", "series": SERIES, "add": add or [HOUR]})
        elif move < 0.11:
            records.append({"type": "close", "series": SERIES})
        else:
            now = max(0, now + int(of.choice([1, 1, 1, 2, 5, 0, -1])))
            records.append(observation(SERIES, now * HOUR + int(of.integers(0, HOUR)), None))
    return Log(records, raw, substituted, [measured(of) for _ in records])


def _decide(log: Log, values: np.random.Generator, swap: Swap = agreeing) -> tuple[Any, ...]:
    """Run a log with its own values; return everything that resulted from it."""
    run = Run(Context(KEYS, limits=Limits(6 * 10**9, accept_weaker_policies=True)))
    targets = iter(log.targets)
    outcomes: list[object] = []
    for record in log.records:
        given = record
        if record["type"] == "observation":
            invalid = log.substituted and values.random() < 0.2
            given = record | {"value": INVALID[values.integers(0, len(INVALID))] if invalid else log.value(values)}
        outcome = run.feed(given)
        if isinstance(outcome, RejectedRecord):
            outcomes.append(outcome.reason)
            continue
        assert isinstance(outcome, ProcessedRecord)
        outcomes.append((outcome.decision, outcome.spent_nano, outcome.row.state))
        if record["type"] == "policy":
            changed = replace(outcome.row.policy, kind=swap(outcome.row.policy.kind, targets))
            run.rows[SERIES] = replace(outcome.row, policy=changed)
    return outcomes, run.outputs, [len(record) for out in run.outputs for record in out]


@pytest.mark.parametrize("kind", list(VALUES))
def test_logs_that_measure_alike_are_decided_alike(kind: str, pairs: int) -> None:
    """In thousands of pairs of logs with other values, all bytes, spends, rejects, rows and sizes are equal."""
    of = np.random.default_rng(11)
    perturbed = rejected = 0
    for pair in range(pairs // len(VALUES)):
        log = _log(of, kind)
        one = _decide(log, np.random.default_rng([pair, 1]))
        assert one == _decide(log, np.random.default_rng([pair, 2]))
        releases, _, rejects = one[1]
        perturbed += sum(b'"perturbed"' in release for release in releases)
        rejected += len(rejects)
    assert perturbed > pairs // 4
    assert rejected > pairs // 4


@dataclass(frozen=True, slots=True)
class _ComparesRawValues(AgreeingNumber):
    """Adapts its rate to the change of the raw values, the classic leak."""

    last: list[tuple[int, ...]] | None = None

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        assert self.last is not None
        self.last[:] = [*self.last[-1:], cells]
        return AgreeingNumber.perturb(self, stream, cells, spend_nano)

    def still(self, previous: ReleasedCells, current: ReleasedCells, spend_nano: int) -> bool:
        assert self.last is not None
        assert previous is not current
        return abs(self.last[-1][0] - self.last[0][0]) * spend_nano < self.sensitivity * 10**8


@dataclass(frozen=True, slots=True)
class _RefusesOutliers(AgreeingNumber):
    """Refuses values beyond the range instead of clamping them."""

    def quantise(self, raw: Raw) -> RawCells | None:
        found = Number.quantise(self, raw)
        return None if found in {(self.axis.low,), (self.axis.high,)} else found


def _swapped(broken: type[AgreeingNumber]) -> Swap:
    def swap(kind: Kind, targets: Iterator[tuple[int, ...]]) -> Kind:
        real = agreeing(kind, targets)
        assert isinstance(real, AgreeingNumber)
        parts: dict[str, Any] = {name: getattr(real, name) for name in ("axis", "sensitivity", "lower", "upper")}
        parts |= {"clamped": real.clamped, "substitute": real.substitute, "targets": targets}
        return broken(**parts, last=[]) if broken is _ComparesRawValues else broken(**parts)

    return swap


@pytest.mark.parametrize("broken", [_ComparesRawValues, _RefusesOutliers])
def test_a_leak_would_be_caught(broken: type[AgreeingNumber]) -> None:
    """A rate that follows raw changes and a rejection of clamped values both make some pair of logs differ."""
    of = np.random.default_rng(12)
    differ = 0
    for pair in range(300):
        log = _log(of, "number")
        one, other = (_decide(log, np.random.default_rng([pair, way]), _swapped(broken)) for way in (1, 2))
        differ += one != other
    assert differ > 10
