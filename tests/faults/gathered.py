"""A workload of collected data: members contribute to wards, with all that goes wrong in real life, from one seed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson

from tests.faults.topics import Sent
from tests.faults.workload import START_MS, STEP_MS

KEYS = ["walk", "ride", "rest"]
MEMBERS = 60
COLLECTS: tuple[dict[str, Any], ...] = (
    {"neighbours": "replace", "open_steps": 2},
    {"neighbours": "add-remove", "open_steps": 1},
    {"neighbours": "replace", "open_steps": 4, "intrusion_nano": 200_000_000},
)
SCHEMES = ("adaptive", "balanced", "uniform")


@dataclass(slots=True)
class Ward:
    """One series on its way: the first step that is open."""

    name: str
    collect: dict[str, Any]
    scheme: str
    step: int = 0
    version: int = 0


class Gathered:
    """Records without end, the same for the same seed."""

    def __init__(self, seed: int, wards: int = 40) -> None:
        """Make the wards."""
        self._draw = np.random.default_rng(seed)
        self._wards = [
            Ward(f"ward-{nth}", COLLECTS[nth % len(COLLECTS)], SCHEMES[nth // len(COLLECTS) % len(SCHEMES)])
            for nth in range(wards)
        ]
        self.sent = 0

    def events(self, count: int) -> Iterator[Sent]:
        """Yield the next ``count`` records."""
        for _ in range(count):
            ward = self._wards[int(self._draw.integers(len(self._wards)))]
            yield self._sent(self._next(ward))

    def closing(self) -> Iterator[Sent]:
        """Yield what ends every ward: nothing is open afterwards, and all input can be acknowledged."""
        for ward in self._wards:
            yield self._sent({"type": "close", "series": ward.name})

    @property
    def wards(self) -> int:
        """How many there are."""
        return len(self._wards)

    def _sent(self, record: dict[str, Any]) -> Sent:
        self.sent += 1
        return Sent(record["series"].encode(), orjson.dumps(record))

    def _next(self, ward: Ward) -> dict[str, Any]:
        if not ward.version:
            return self._policy(ward)
        chance = float(self._draw.random())
        if chance < 0.90:
            return self._contribution(ward, ahead=int(self._draw.integers(ward.collect["open_steps"])))
        if chance < 0.96:
            ward.step += 1 if chance < 0.955 else 5
            return self._watermark(ward, ward.step)
        if chance < 0.98:  # late or early, both watermarks and contributions
            if chance < 0.965:
                return self._watermark(ward, max(0, ward.step - 1))
            return self._contribution(ward, ahead=-1 if chance < 0.975 else 9)
        if chance < 0.99:
            return {"type": "intrusion", "series": ward.name, "seed": self._seed()}
        if chance < 0.995:
            return {**self._contribution(ward, ahead=0), "value": [None, 3, "nowhere"][self.sent % 3]}
        return self._policy(ward) if chance < 0.997 else {**self._watermark(ward, ward.step + 1), "seed": "none"}

    def _contribution(self, ward: Ward, ahead: int) -> dict[str, Any]:
        moment = START_MS + max(0, ward.step + ahead) * STEP_MS + int(self._draw.integers(STEP_MS))
        member = f"m-{int(self._draw.integers(MEMBERS))}"
        value = KEYS[int(self._draw.integers(len(KEYS)))]
        return {"type": "contribution", "series": ward.name, "timestamp": moment, "member": member, "value": value}

    def _watermark(self, ward: Ward, step: int) -> dict[str, Any]:
        moment = START_MS + step * STEP_MS
        return {"type": "watermark", "series": ward.name, "timestamp": moment, "seed": self._seed()}

    def _policy(self, ward: Ward) -> dict[str, Any]:
        ward.version += 1
        ahead = START_MS + (ward.step + 7) * STEP_MS
        return {
            "type": "policy",
            "series": ward.name,
            "version": ward.version,
            "epsilon": 0.3,
            "protection": {"level": "landmark", "step": STEP_MS, "landmarks": [[ahead, ahead + 3 * STEP_MS]]},
            "scheme": {"name": ward.scheme},
            "value": {"kind": "counts", "keys": KEYS},
            "collect": ward.collect,
        }

    def _seed(self) -> str:
        return self._draw.bytes(32).hex()
