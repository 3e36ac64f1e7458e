"""A workload of open steps: members contribute to wards, meters send several readings per step; one seed."""

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
NUMBER = {"kind": "number", "lower": 0, "upper": 100, "resolution": 0.01}
WITHIN: tuple[dict[str, Any], ...] = (
    {"within": "sum", "open_steps": 2},
    {"within": "last", "open_steps": 1},
    {"within": "mean", "open_steps": 3, "absent": 20},
    {"within": "max", "open_steps": 2, "absent": "approximated"},
)
READ = "read-"
"""The prefix of meter ids: a reading may have no answer, and one that closes steps may have many."""
SCHEMES = ("adaptive", "balanced", "uniform")


@dataclass(slots=True)
class Ward:
    """The progress of one series: its first open step; ``collect`` is what its policy says about open steps."""

    name: str
    collect: dict[str, Any]
    scheme: str
    step: int = 0
    version: int = 0


class Gathered:
    """An endless sequence of records, the same for the same seed."""

    def __init__(self, seed: int, wards: int = 40, meters: int = 12) -> None:
        """Make the wards and the meters."""
        self._draw = np.random.default_rng(seed)
        self._wards = [
            Ward(f"ward-{nth}", COLLECTS[nth % len(COLLECTS)], SCHEMES[nth // len(COLLECTS) % len(SCHEMES)])
            for nth in range(wards)
        ] + [
            Ward(f"{READ}{nth}", WITHIN[nth % len(WITHIN)], SCHEMES[nth // len(WITHIN) % len(SCHEMES)])
            for nth in range(meters)
        ]
        self.sent = 0

    def events(self, count: int) -> Iterator[Sent]:
        """Yield the next ``count`` records."""
        for _ in range(count):
            ward = self._wards[int(self._draw.integers(len(self._wards)))]
            yield self._sent(self._next(ward))

    def closing(self) -> Iterator[Sent]:
        """Yield records that end every series: nothing stays open, so all input can be acknowledged."""
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
        if ward.name.startswith(READ):
            return self._read(ward, chance)
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

    def _read(self, ward: Ward, chance: float) -> dict[str, Any]:
        """Return a reading (also late, doubled or out of order), a watermark without a seed, or a policy."""
        draw = self._draw
        if chance < 0.01:
            return self._policy(ward)
        if chance < (0.15 if "absent" in ward.collect else 0.04):
            ward.step += int(draw.integers(3))
            return {"type": "watermark", "series": ward.name, "timestamp": START_MS + ward.step * STEP_MS}
        ward.step += "absent" not in ward.collect and chance < 0.2
        step = max(0, ward.step + int(draw.choice([-2, -1, 0, 1], p=[0.05, 0.25, 0.6, 0.1])))
        value = "none" if chance > 0.98 else round(float(draw.normal(30, 20)), 4)
        moment = START_MS + step * STEP_MS + int(draw.integers(40))  # so few that some come twice
        return {"series": ward.name, "timestamp": moment, "value": value}

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
        protection = {"level": "landmark", "step": STEP_MS, "landmarks": [[ahead, ahead + 3 * STEP_MS]]}
        read = ward.name.startswith(READ)
        return {
            "type": "policy",
            "series": ward.name,
            "version": ward.version,
            "epsilon": 0.3,
            "protection": protection | ward.collect if read else protection,
            "scheme": {"name": ward.scheme},
            "value": NUMBER if read else {"kind": "counts", "keys": KEYS},
        } | ({} if read else {"collect": ward.collect})

    def _seed(self) -> str:
        return self._draw.bytes(32).hex()
