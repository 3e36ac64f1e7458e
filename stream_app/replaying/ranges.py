"""How an input's values relate to their policies' ranges: clamped values, and substituted ones."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from math import isfinite
from typing import Final

from stream_app.privacy.kinds import Item, Kind, Number
from stream_app.privacy.policy import Policy
from stream_app.privacy.values import Raw, is_number

_ALL: Final = "values"
BELOW, ABOVE, BOUNDS = "below the lower end", "above the upper end", "outside the bounds"
_SUMMED: Final = frozenset({"sum", "mean"})


class Ranges:
    """Counts clamped and substituted values of accepted rows.

    PRIVACY: everything counted here comes from raw values. It is only for people who have the input, and no output,
    log, metric or report may contain it.
    """

    def __init__(self) -> None:
        self.values = 0
        """The number of values that were checked: readings, or the aggregate of a step's readings once it closes."""
        self.outside = 0
        """The number of checked values outside their policy's range."""
        self.substituted = 0
        """The number of rows whose value is replaced by the policy's substitute."""
        self.first_substituted: tuple[int, Policy] | None = None
        """The zero-based index in the input of the first row with a substituted value, and its policy."""
        self._strict: dict[str, tuple[Policy, Item]] = {}
        self._open: dict[str, _Step] = {}
        self._of: dict[str, Counter[str]] = {}  # each series' values, and those beyond each end

    def take(self, number: int, series: str, at_ms: int | None, value: object, policy: Policy) -> None:
        """Take the value of a row that was accepted under a policy."""
        kind = policy.kind
        if series not in self._strict or self._strict[series][0] is not policy:
            self._strict[series] = policy, strict(policy)
        if is_substituted(policy, self._strict[series][1], value):
            self.first_substituted = self.first_substituted or (number, policy)
            self.substituted += 1
        elif policy.within is None or policy.within.aggregate not in _SUMMED:
            self._value(series, kind, value)
        elif at_ms is not None and is_number(value):
            index = policy.index_of(at_ms)
            step = self._open.get(series)
            if step is None or step.index != index:
                if step is not None:
                    self._value(series, step.policy.kind, step.total())
                step = self._open[series] = _Step(index, policy)
            step.add(float(value))

    def mostly_beyond(self, fewest: int) -> Iterator[tuple[str, str]]:
        """Yield each series with at least ``fewest`` values, most of them beyond one end of the range, and that end."""
        for series, counts in self._of.items():
            for side in (BELOW, ABOVE, BOUNDS):
                if counts[_ALL] >= fewest and 2 * counts[side] > counts[_ALL]:
                    yield series, side

    def _value(self, series: str, kind: Kind, value: object) -> None:
        counts = self._of.setdefault(series, Counter())
        counts[_ALL] += 1
        self.values += 1
        if kind.item.is_outside(value):
            self.outside += 1
            item = kind.item
            if isinstance(item, Number) and is_number(value):
                counts[BELOW if value < item.lower else ABOVE] += 1
            else:
                counts[BOUNDS] += 1


class _Step:
    """The aggregate of an open step's readings so far."""

    def __init__(self, index: int, policy: Policy) -> None:
        self.index, self.policy = index, policy
        self._sum, self._count = 0.0, 0

    def add(self, value: float) -> None:
        self._sum += value
        self._count += 1

    def total(self) -> float:
        assert self.policy.within is not None, "a step of readings"
        return self._sum / self._count if self.policy.within.aggregate == "mean" else self._sum


def strict(policy: Policy) -> Item:
    """Return the kind of a single reading without the substitute, so that it rejects invalid values."""
    return replace(policy.kind.item, substitute=None)


def is_substituted(policy: Policy, item: Item, value: object) -> bool:
    """Return whether a policy's substitute replaces a value; ``item`` is the policy's kind without a substitute."""
    if policy.within is not None and policy.within.aggregate in _SUMMED:
        return policy.within.substitute is not None and not (is_number(value) and isfinite(value))
    return policy.kind.item.substitute is not None and item.quantise(Raw(value)) is None
