"""The filter ``level`` agrees bit for bit with a second implementation, and with golden values."""

import json
import math
from collections.abc import Callable
from itertools import islice

import pytest

from tests.privacy import golden
from tests.privacy.filtered import Subject, category, counts, location, number, run
from tests.privacy.literal_level import LiteralCategory, LiteralNumber, normalised

SUBJECTS: dict[str, list[Callable[[], Subject]]] = {
    "number": [
        lambda: number(0, 10, "0.001"),
        lambda: number(-273.15, 1e6, "0.01"),
        lambda: number(1e-5, 3e-5, "1e-09"),
        lambda: number(39, 401, "1"),
    ],
    "location": [lambda: location(500, "10"), lambda: location(123.456, "0.7"), lambda: location(2.5, "0.1")],
    "counts": [lambda: counts(1, 1), lambda: counts(3, 2), lambda: counts(4, 1001)],
    "category": [lambda: category(2), lambda: category(3), lambda: category(7)],
}


@pytest.mark.parametrize("kind", list(SUBJECTS))
def test_the_filter_is_the_designs(kind: str, filtered: int) -> None:
    """Estimates and all running numbers equal those of the literal filter, bit for bit, over all its subjects."""
    compared = approximated = 0
    for seed, subject in enumerate(SUBJECTS[kind]):
        for event in run(subject(), filtered // len(SUBJECTS[kind]) + 1, seed):
            assert event.estimate == event.expected
            assert event.state == event.expected_state
            compared += 1
            approximated += not event.estimate
    assert compared >= filtered
    assert approximated > filtered // 5


class _OtherOrder(LiteralNumber):
    """The same formulas, one of them factored: equal on paper, but not in doubles."""

    def measured(self, z: float, b: float, elapsed: int) -> list[int]:
        before = list(self.p)
        found = super().measured(z, b, elapsed)
        drift = [
            min(p + self.W * self.W / 16 / 64**j * min(elapsed, 64), self.W * self.W / 12)
            for p, j in zip(before, (3, 2, 1, 0), strict=True)
        ]
        self.p = [wide * (1 - (wide - narrow) / wide) for wide, narrow in zip(drift, self.p, strict=True)]
        return found


class _CompensatedSum(LiteralCategory):
    """The same belief, normalised by a sum without rounding errors, such as `sum` since Python 3.12."""

    def measured(self, z: int, epsilon: object, elapsed: int) -> list[int]:
        found = super().measured(z, epsilon, elapsed)  # type: ignore[arg-type]
        total = math.fsum(self.bel)
        self.bel = [part / total for part in self.bel]
        return found


class _LateGap(LiteralNumber):
    """Counts gaps up to 65 steps."""

    def approximated(self, elapsed: int) -> None:
        super().approximated(elapsed)
        if elapsed > 64:
            super().approximated(1)


class _ShrinksAtOutliers(LiteralNumber):
    """Becomes more certain at an outlier too, as the first versions did."""

    def measured(self, z: float, b: float, elapsed: int) -> list[int]:
        self.approximated(elapsed)
        sizes = [b * abs(z - m) for m in self.m]
        outliers = [size > p + 1.25 * b * math.sqrt(p) for size, p in zip(sizes, self.p, strict=True)]
        found = super().measured(z, b, 0)
        self.p = [p - p * (p / s) if out else p for p, s, out in zip(self.p, sizes, outliers, strict=True)]
        return found


@pytest.mark.parametrize(
    "subject",
    [
        number(0, 10, "0.001")._replace(literal=_OtherOrder(0, 10, "0.001")),
        number(0, 10, "0.001")._replace(literal=_LateGap(0, 10, "0.001")),
        number(0, 10, "0.001")._replace(literal=_ShrinksAtOutliers(0, 10, "0.001")),
        category(7)._replace(literal=_CompensatedSum(7)),
        number(0, 10, "0.001")._replace(literal=LiteralNumber(0, 10.001, "0.001")),
    ],
    ids=["other order", "late gap", "outliers", "compensated sum", "other range"],
)
def test_the_slightest_difference_would_be_caught(subject: Subject) -> None:
    """Filters that differ in an order of operations, in one step of a gap or in rounding a sum do not agree."""
    assert any(event.state != event.expected_state for event in islice(run(subject, 3000, 1), 3000))


def test_the_filter_is_what_it_always_was() -> None:
    """Estimates and running numbers of a short run of every kind equal the golden ones, in both implementations."""
    found = json.loads(golden.LEVEL_FILE.read_text())
    assert golden.level() == found
    assert golden.level(literal=True) == found


def test_weights_are_summed_in_order() -> None:
    """The order of a sum shows in doubles."""
    assert normalised([0.1] * 10) != [0.1 / math.fsum([0.1] * 10)] * 10
