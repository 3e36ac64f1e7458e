"""What all series spent over time: in bins of time, which are widened when there would be too many."""

import re
from collections.abc import Sequence
from typing import Final

from stream_app.audit.form.entry import MAX_TIMESTAMP

MOST_BINS: Final = 100
_WIDER: Final = (10, 10, 10, 10, 6, 10, 6, 6, 4, 7, 4, 3, 4, 10, 10)
"""By what bins grow each time: 1, 10, 100 ms, 1 and 10 s, 1 and 10 min, 1, 6 h, 1, 7, 28, 84, 336 days, and on."""
_SPEND: Final = re.compile(
    rb'"timestamp":(\d{1,15}),"decision":"perturbed","landmark":(true|false),"policy":\d+,"budget_nano":\d+,'
    rb'"epsilon_nano":(\d{1,18}),'
)


class Flow:
    """Spends on landmarks and on other steps, in nano-epsilon, by bins of `width_ms`."""

    def __init__(self) -> None:
        self.width_ms = 1
        self._wider = iter(_WIDER)
        self.landmark: dict[int, int] = {}  # by bin number: timestamp // width_ms
        self.regular: dict[int, int] = {}
        self._low = self._high = -1  # bin numbers

    def entries(self, lines: Sequence[bytes]) -> None:
        """Read the next lines of the ledger; whether they are true is for the audit to say."""
        search = _SPEND.search
        for data in lines:
            found = search(data)
            if found is None:
                continue
            timestamp, landmark, spend = found.groups()
            if int(timestamp) <= MAX_TIMESTAMP:
                self._add(int(timestamp), int(spend), self.landmark if landmark == b"true" else self.regular)

    def _add(self, timestamp: int, spend: int, kind: dict[int, int]) -> None:
        number = timestamp // self.width_ms
        if not self._low <= number <= self._high:
            self._low = number if self._low < 0 else min(self._low, number)
            self._high = max(self._high, number)
            while self._high - self._low >= MOST_BINS:
                self._widen()
            number = timestamp // self.width_ms
        kind[number] = kind.get(number, 0) + spend

    def _widen(self) -> None:
        times = next(self._wider)
        self.width_ms *= times
        self._low //= times
        self._high //= times
        for kind in (self.landmark, self.regular):
            narrow = list(kind.items())
            kind.clear()
            for number, spend in narrow:
                kind[number // times] = kind.get(number // times, 0) + spend

    @property
    def numbers(self) -> range:
        """The numbers of all bins, empty ones too."""
        return range(self._low, self._high + 1) if self._low >= 0 else range(0)
