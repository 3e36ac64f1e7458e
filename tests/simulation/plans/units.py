"""Series whose steps hold units, in a schedule: readings on time or not, versions, landmarks, watermarks."""

from random import Random  # noqa: TID251 (draws schedules, no noise)
from typing import Any, Final

UNIT: Final = "unit"
"""Part of the ids of series whose steps hold units."""
START_MS: Final = 1_600_000_000_000
STEP_MS: Final = 240_000
NUMBER: Final = {"kind": "number", "lower": 0, "upper": 100, "resolution": 0.5}
CATEGORY: Final = {"kind": "category", "categories": ["home", "work", True]}
_BOUNDS: Final = [START_MS + nth * STEP_MS for nth in (2, 5)]

POLICIES: Final[tuple[dict[str, Any], ...]] = (
    {
        "protection": {"level": "landmark", "unit": 60_000, "open_steps": 1},
        "value": NUMBER | {"statistic": "mean"},
    },
    {
        "protection": {"level": "landmark", "unit": 8_000, "window": 5, "offset": 30_000, "open_steps": 2, "spare": 3},
        "value": NUMBER | {"statistic": "sum"},
        "scheme": {"name": "balanced"},
    },
    {
        "protection": {"level": "event", "unit": 30_000, "open_steps": 3, "within": "mean"},
        "value": NUMBER | {"statistic": "histogram", "edges": [20, 70], "invalid": 33},
    },
    {
        "protection": {"level": "landmark", "unit": 10_000, "open_steps": 2, "within": "last"},
        "value": CATEGORY | {"statistic": "histogram"},
        "scheme": {"name": "adaptive"},
    },
    {
        "protection": {"level": "landmark", "unit": 120_000, "window": 3, "open_steps": 2, "within": "sum"},
        "value": NUMBER | {"statistic": "share", "from": 20, "to": 50},
    },
    {
        "protection": {"level": "event", "unit": 60_000, "open_steps": 1, "within": "max"},
        "value": NUMBER | {"statistic": "mean", "by": "hour", "transitions": [[0, 3_540_000]]},
    },
)
_SENT: Final = (30, 61)


class UnitCourse:
    """One series on its way."""

    def __init__(self, name: str, key: bytes, draw: Random) -> None:
        self.name, self.key, self._draw = name, key, draw
        self._version, self._now_ms = 0, START_MS
        self._chosen = POLICIES[0]

    def next(self) -> dict[str, Any] | bytes:
        """Return whatever comes next."""
        chance = self._draw.random()
        if self._version == 0 or chance < 0.06:
            return self._policy()
        if chance < 0.12:
            return {"type": "landmarks", "series": self.name, "add": [self._landmark()]}
        if chance < 0.13:
            return {"type": "close", "series": self.name}
        if chance < 0.2:
            self._now_ms += self._draw.choice((0, STEP_MS // 2, STEP_MS))
            return {"type": "watermark", "series": self.name, "timestamp": self._now_ms}
        return self._reading()

    def _landmark(self) -> int | list[int]:
        at = self._now_ms + self._draw.randrange(-2 * STEP_MS, 2 * STEP_MS)
        return self._draw.choice((at, [at, at + self._draw.choice((5_000, STEP_MS))]))

    def _policy(self) -> dict[str, Any]:
        self._version += self._draw.choice((1, 1, 4))  # renewals use up numbers, too
        if self._version < 2 or self._draw.random() < 0.4:
            self._chosen = self._draw.choice(POLICIES)
        elif self._chosen["value"] is not POLICIES[3]["value"] and self._draw.random() < 0.3:
            # Not weaker, and no version that takes open steps over.
            other = "last" if self._chosen["protection"].get("within") == "max" else "max"
            self._chosen = self._chosen | {"protection": self._chosen["protection"] | {"within": other}}
        chosen = self._chosen
        protection = {"step": STEP_MS} | chosen["protection"]
        record: dict[str, Any] = {"type": "policy", "series": self.name, "version": self._version}
        record |= {"epsilon": self._draw.choice((0.3, 1.0)), "scheme": {"name": "uniform"}} | chosen
        if protection["level"] == "landmark":
            first = self._now_ms + 2 * STEP_MS
            protection["landmarks"] = [first, [first + STEP_MS, first + STEP_MS + 90_000]]
            if self._draw.random() < 0.4:
                record["renew"] = _BOUNDS
        return record | {"protection": protection}

    def _reading(self) -> dict[str, Any]:
        self._now_ms += self._draw.choice((0, 1_000, 7_000, 20_000, 60_000))
        at = self._now_ms + self._draw.choice((0, 0, 0, 0, 0, -1_000, -50_000, -STEP_MS, STEP_MS))
        value: Any = round(self._draw.random() * 110 - 5, 1)
        if self._chosen["value"]["kind"] == "category":
            value = self._draw.choice(("home", "work", True))
        if self._draw.random() < 0.03:
            value = "nothing of the kind"
        return {"series": self.name, "timestamp": at, "value": value}


def unit_courses(seed: object, *, prefix: str) -> tuple[Random, list[UnitCourse], int]:
    """Return their random source, one to three series, and how many records they send.

    ``prefix`` names a member.
    """
    draw = Random(f"units {seed}")  # apart, so that the rest of the schedule is what it was before
    names = [f"{prefix}{UNIT}-{nth}" for nth in range(1, draw.randrange(2, 5))]
    return draw, [UnitCourse(name, _key(name), draw) for name in names], draw.randrange(*_SENT)


def _key(name: str) -> bytes:
    return name.partition("/")[0].encode()
