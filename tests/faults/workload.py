"""A workload: many series of every kind, scheme and level, with typical real-life trouble, from one seed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson

from tests.faults.topics import Sent

START_MS = 1_600_000_000_000
STEP_MS = 60_000
LIFETIME_EPSILON = 3.0

NUMBER = {"kind": "number", "lower": 0, "upper": 100, "resolution": 0.01}
COUNTS = {"kind": "counts", "keys": ["walk", "ride"], "sensitivity": 2}
LOCATION = {
    "kind": "location",
    "radius": 300,
    "resolution": 1,
    "bounds": {"south": -11, "west": -37.2, "north": -10.8, "east": -37},
}
CATEGORY = {"kind": "category", "categories": ["home", "work", "road"]}


def policy(value: object, scheme: str, *, epsilon: float = 1.0, level: str = "landmark", **more: Any) -> dict[str, Any]:
    """Return policy parameters whose landmarks, if any, are among the first steps."""
    protection: dict[str, object] = {"level": level, "step": STEP_MS}
    if level == "landmark":
        first, interval = START_MS + 7 * STEP_MS, [START_MS + 20 * STEP_MS, START_MS + 30 * STEP_MS]
        # With dummies no landmark comes later: it would be known as a true one.
        protection |= {"landmarks": [first, interval], **({} if "dummies" in more else {"spare": 2})}
    if level == "user":
        protection["length"] = 40
    if level == "w-event" or scheme in {"bd", "ba"}:
        protection["window"] = 12
    options = {"accept_risk": True} if scheme == "skip" else {}
    return {"epsilon": epsilon, "protection": protection, "scheme": {"name": scheme, **options}, "value": value, **more}


_RANGE = {"start": START_MS, "end": START_MS + 40 * STEP_MS}
"""The range from which dummies are drawn; it contains all landmarks."""

DEFAULTS: tuple[dict[str, Any], ...] = (
    {"series": "meter-*", **policy(NUMBER, "adaptive")},
    {"series": "cell-*", **policy(COUNTS, "uniform")},
    {"series": "bus-*", **policy(LOCATION, "adaptive", filter="level")},
    {"series": "phone-*", **policy(CATEGORY, "balanced")},
    {"series": "ring-*", **policy(NUMBER, "ba", level="w-event")},
    {"series": "veil-*", **policy(NUMBER, "balanced", dummies={"method": "heuristic", **_RANGE})},
)
"""The default policies; series of other names bring their own, or have none."""

_BOUNDS = [START_MS + step * STEP_MS + STEP_MS // 2 for step in (4, 9, 16, 17, 33)]
RENEWED: tuple[dict[str, Any], ...] = tuple(
    {**default, "renew": _BOUNDS} if default["series"] in {"meter-*", "phone-*", "veil-*"} else default
    for default in DEFAULTS
)
"""The same policies, some of which are renewed: the lifetime has room for two or three versions."""

OWN: tuple[dict[str, Any], ...] = (
    policy(NUMBER, "balanced"),
    policy(COUNTS, "skip"),
    policy(NUMBER, "uniform", level="event"),
    policy(CATEGORY, "adaptive", level="user"),
    policy(LOCATION, "balanced"),
    policy({**NUMBER, "invalid": 50}, "adaptive", filter="level"),
    policy(COUNTS, "balanced", epsilon=0.5),
    policy(COUNTS, "bd", level="w-event"),
    policy(NUMBER, "ba"),
    policy(LOCATION, "uniform", level="w-event"),
    policy(NUMBER, "uniform", dummies={"method": "padding", "probability": 0.3, **_RANGE}),
)

_KINDS = {
    "meter": "number",
    "cell": "counts",
    "bus": "location",
    "phone": "category",
    "ring": "number",
    "veil": "number",
}
_FAMILIES = (*_KINDS, *(f"own{nth}" for nth in range(len(OWN))), "stray")


@dataclass(slots=True)
class Course:
    """The progress of one series: its next unused step."""

    name: str
    own: dict[str, Any] | None
    kind: str
    step: int = 0
    version: int = 1
    begun: bool = False


class Workload:
    """An endless sequence of events, the same for the same seed."""

    def __init__(self, seed: int, series: int = 600) -> None:
        """Make the courses of ``series`` series."""
        self._draw = np.random.default_rng(seed)
        self._courses = [_course(nth) for nth in range(series)]
        self.sent = 0

    def events(self, count: int) -> Iterator[Sent]:
        """Yield the next ``count`` records."""
        for _ in range(count):
            course = self._courses[int(self._draw.integers(len(self._courses)))]
            found = self._next(course)
            self.sent += 1
            value = found if isinstance(found, bytes) else orjson.dumps(found)
            yield Sent(course.name.encode(), value)

    def _next(self, course: Course) -> dict[str, Any] | bytes:
        if not course.begun:
            course.begun = True
            if course.own is not None:
                return {"type": "policy", "series": course.name, "version": 1, **course.own}
        chance = float(self._draw.random())
        if chance < 0.90:
            return self._observation(course)
        return self._oddity(course, int((chance - 0.90) * 1000))

    def _observation(self, course: Course) -> dict[str, Any]:
        course.step += int(self._draw.integers(1, 4))
        return self._at(course, course.step)

    def _at(self, course: Course, step: int) -> dict[str, Any]:
        moment = START_MS + max(0, step) * STEP_MS + int(self._draw.integers(STEP_MS))
        return {"series": course.name, "timestamp": moment, "value": self._value(course.kind)}

    def _oddity(self, course: Course, chance: int) -> dict[str, Any] | bytes:
        """Return something other than a plain event, chosen by a chance out of a hundred."""
        draw = self._draw
        if chance < 45:  # a duplicate, or late
            return self._at(course, course.step if chance < 25 else course.step - int(draw.integers(1, 10)))
        if chance < 60:
            return {**self._observation(course), "value": [None, "nowhere", {"walk": -1}, True][chance % 4]}
        if chance < 78:
            return {"type": "landmarks", "series": course.name, "add": self._spans(course, ahead=chance < 70)}
        if chance < 86:
            return self._version(course)
        if chance < 88:
            # Now and then: whatever comes after it is only rejected.
            return {"type": "close", "series": course.name} if draw.random() < 0.25 else self._version(course)
        return self._broken(course, chance)

    def _spans(self, course: Course, *, ahead: bool) -> list[object]:
        if not ahead:
            return [START_MS + max(0, course.step - int(self._draw.integers(0, 5))) * STEP_MS]
        first = START_MS + (course.step + int(self._draw.integers(1, 9))) * STEP_MS
        return [first, [first, first + 3 * STEP_MS]]

    def _version(self, course: Course) -> dict[str, Any]:
        course.version += 1
        own = OWN[int(self._draw.integers(len(OWN)))]
        course.kind = own["value"]["kind"]
        parameters = {**own, "epsilon": 0.3}
        if own["protection"]["level"] != "w-event":
            ahead = START_MS + (course.step + 5) * STEP_MS
            landmarks = [[ahead, ahead + 4 * STEP_MS]]
            parameters["protection"] = {"level": "landmark", "step": STEP_MS, "landmarks": landmarks}
        if "dummies" in own:
            first = START_MS + (course.step + 1) * STEP_MS
            parameters["dummies"] = {**own["dummies"], "start": first, "end": first + 20 * STEP_MS}
        elif own["protection"]["level"] != "w-event":
            parameters["protection"]["spare"] = 1
        return {"type": "policy", "series": course.name, "version": course.version, **parameters}

    def _broken(self, course: Course, chance: int) -> bytes:
        whole = orjson.dumps(self._at(course, course.step))
        if chance < 92:
            return orjson.dumps({"type": "policy", "series": course.name, "version": 99, "epsilon": -1})
        if chance < 94:
            return whole[:-3]
        if chance < 96:
            return b"\xff\xfe" + whole
        if chance < 98:
            return b'{"series":"%b","timestamp":"soon","value":1}' % course.name.encode()
        size = 300_000 if self.sent % 20 == 0 else 100
        return b'{"series":"%b","note":"%b"}' % (course.name.encode(), b"x" * size)

    def _value(self, kind: str) -> object:
        draw = self._draw
        if kind == "number":
            return round(float(draw.normal(50, 20)), 3)
        if kind == "counts":
            return {"walk": int(draw.integers(30)), "ride": int(draw.integers(5))}
        if kind == "location":
            north, east = draw.random(2)
            return {"latitude": round(-11 + 0.2 * float(north), 6), "longitude": round(-37.2 + 0.2 * float(east), 6)}
        return ["home", "work", "road"][int(draw.integers(3))]


def _course(nth: int) -> Course:
    family = _FAMILIES[nth % len(_FAMILIES)]
    own = OWN[int(family[3:])] if family.startswith("own") else None
    kind = own["value"]["kind"] if own is not None else _KINDS.get(family, "number")
    return Course(f"{family}-{nth}", own, kind)
