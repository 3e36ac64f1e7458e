"""A workload of persons, each with a few series and a cap; new series keep arriving, all from one seed."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import orjson

from tests.faults.topics import Sent
from tests.faults.workload import NUMBER, START_MS, STEP_MS, policy

SEPARATOR = "/"
CAP_EPSILON = 4.0
PERSONS = 40
_NAMES = ("glucose", "place", "sleep", "pulse", "steps")
_LIFETIMES = (0.4, 0.8, 1.5, 5.0)


class Persons:
    """Events of series whose ids begin with a person, who is the key; the same for the same seed."""

    def __init__(self, seed: int) -> None:
        """Know of nobody yet."""
        self._draw = np.random.default_rng([seed, 15])
        self._steps: dict[str, int] = {}
        self._versions: dict[str, int] = {}
        self.sent = 0

    def events(self, count: int) -> Iterator[Sent]:
        """Yield the next ``count`` records."""
        for _ in range(count):
            person = f"person-{int(self._draw.integers(PERSONS))}"
            self.sent += 1
            yield Sent(person.encode(), orjson.dumps(self._next(person)))

    def _next(self, person: str) -> dict[str, Any]:
        draw = self._draw
        if draw.random() < 0.03:
            return {"type": "member", "member": person, "epsilon": float(draw.choice([0.7, 2.5, 3.5, 9.0]))}
        series = f"{person}{SEPARATOR}{_NAMES[int(draw.integers(len(_NAMES)))]}"
        if series not in self._versions or draw.random() < 0.04:
            version = self._versions[series] = self._versions.get(series, 0) + 1
            parameters = policy(NUMBER, "uniform", level="event", epsilon=0.3)
            record = {"type": "policy", "series": series, "version": version, **parameters}
            return record | {"lifetime": float(draw.choice(_LIFETIMES))}
        step = self._steps[series] = self._steps.get(series, 0) + 1
        return {"series": series, "timestamp": START_MS + step * STEP_MS, "value": round(float(draw.normal(50, 9)), 2)}
