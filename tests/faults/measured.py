"""A workload of statistics: readings in units of days and weeks, landmarks on time and late, from one seed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import orjson

from tests.faults.gathered import READ
from tests.faults.topics import Sent

HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS
WEEK_MS: Final = 7 * DAY_MS
START_MS: Final = 1_600_000_000_000
SENT: Final = f"{READ}units-"
"""The prefix of series ids: a reading may have no answer, and one that closes steps may have many."""
NUMBER: Final = {"kind": "number", "lower": 0, "upper": 100, "resolution": 0.5}
_ZONE: Final = [[0, HOUR_MS], [START_MS + 9 * DAY_MS, 2 * HOUR_MS], [START_MS + 30 * DAY_MS, HOUR_MS]]

FORMS: Final[tuple[dict[str, Any], ...]] = (
    {
        "protection": {"level": "landmark", "step": DAY_MS, "unit": HOUR_MS, "open_steps": 2, "spare": 40},
        "value": NUMBER | {"statistic": "mean"},
        "scheme": {"name": "adaptive"},
        "renew": [START_MS + nth * DAY_MS for nth in (4, 11)],
    },
    {
        "protection": {"level": "landmark", "step": WEEK_MS, "unit": DAY_MS, "offset": 5 * HOUR_MS, "open_steps": 1},
        "value": NUMBER | {"statistic": "mean"},
        "scheme": {"name": "uniform"},
    },
    {
        "protection": {
            "level": "landmark",
            "step": DAY_MS,
            "unit": 15 * 60_000,
            "window": 4,
            "open_steps": 2,
            "within": "mean",
        },
        "value": NUMBER | {"statistic": "share", "from": 20, "to": 50},
        "scheme": {"name": "uniform"},
    },
    {
        "protection": {"level": "event", "step": DAY_MS, "unit": 2 * HOUR_MS, "open_steps": 3, "within": "max"},
        "value": NUMBER | {"statistic": "histogram", "edges": [20, 40, 70], "invalid": 33},
        "scheme": {"name": "balanced"},
    },
    {
        "protection": {"level": "landmark", "step": WEEK_MS, "unit": HOUR_MS, "open_steps": 1, "spare": 10},
        "value": NUMBER | {"statistic": "mean", "by": "hour", "transitions": _ZONE},
        "scheme": {"name": "balanced"},
    },
)


@dataclass(slots=True)
class Meter:
    """The progress of one series: its policy, and how far its readings have come."""

    name: str
    form: dict[str, Any]
    now_ms: int = START_MS
    version: int = 0


class Measured:
    """An endless sequence of records, the same for the same seed."""

    def __init__(self, seed: int, meters: int = 25) -> None:
        """Make the meters."""
        self._draw = np.random.default_rng([seed, 26])
        self._meters = [Meter(f"{SENT}{nth}", FORMS[nth % len(FORMS)]) for nth in range(meters)]
        self.sent = 0

    def events(self, count: int) -> Iterator[Sent]:
        """Yield the next ``count`` records."""
        for _ in range(count):
            meter = self._meters[int(self._draw.integers(len(self._meters)))]
            self.sent += 1
            yield Sent(meter.name.encode(), orjson.dumps({"series": meter.name} | self._next(meter)))

    def _next(self, meter: Meter) -> dict[str, Any]:
        chance, draw = float(self._draw.random()), self._draw
        if not meter.version or chance < 0.01:
            return self._policy(meter)
        if chance < 0.07:
            # Half of them passed: what a release was of becomes a landmark after it.
            first = meter.now_ms + int(draw.integers(-3 * DAY_MS, 3 * DAY_MS))
            return {"type": "landmarks", "add": [[first, first + int(draw.integers(1, 5)) * HOUR_MS]]}
        if chance < 0.10:
            return {"type": "watermark", "timestamp": meter.now_ms + int(draw.integers(DAY_MS))}
        meter.now_ms += int(draw.exponential(meter.form["protection"]["step"] / 12))
        back = int(draw.choice([0, HOUR_MS // 2, DAY_MS], p=[0.8, 0.15, 0.05])) if chance < 0.9 else 0
        value = "none" if chance > 0.98 else round(float(draw.normal(45, 25)), 3)
        return {"timestamp": meter.now_ms - back, "value": value}

    def _policy(self, meter: Meter) -> dict[str, Any]:
        meter.version += 1 if not meter.version else 4  # renewals use up numbers, too
        form = meter.form
        protection = dict(form["protection"])
        if protection["level"] == "landmark":
            first = meter.now_ms + 2 * protection["step"]
            protection["landmarks"] = [first, [first + 6 * HOUR_MS, first + 30 * HOUR_MS]]
        return {"type": "policy", "version": meter.version, "epsilon": 0.6, **form, "protection": protection}


def unit_budget_holds(period: list[dict[str, Any]], spent: Callable[[int], int]) -> bool:
    """Return whether late landmarks and any window of units fit a version's budget, judging by its releases.

    ``spent`` returns what the release of a step spent. A unit that becomes a landmark after its release loses a
    window's share of that; units that were landmarks before are in no release.
    """
    protection = period[0]["parameters"]["protection"]
    step_ms, unit_ms, window = protection["step"], protection["unit"], protection.get("window", 1)
    landmarks: list[tuple[int, int]] = []
    regular: dict[int, int] = {}
    charged = largest = 0
    for entry in period:
        if entry["entry"] == "release":
            start, spend = entry["timestamp"], spent(entry["timestamp"])
            units = range(start, start + step_ms, unit_ms)
            regular |= {unit: spend for unit in units if not any(a < unit + unit_ms and unit < b for a, b in landmarks)}
            largest = max(largest, spend)
        spans = protection.get("landmarks", ()) if entry["entry"] == "policy" else entry.get("add", ())
        landmarks += [(span, span + 1) if isinstance(span, int) else (span[0], span[1]) for span in spans]
        for unit in [one for one in regular if any(a < one + unit_ms and one < b for a, b in landmarks)]:
            charged += regular.pop(unit)
    return bool(charged + window * largest <= window * period[0]["budget_nano"])
