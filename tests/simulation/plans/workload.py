"""The input of a schedule: a few series of several levels, schemes and kinds, with real-life trouble."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from random import Random  # noqa: TID251 (draws schedules, no noise)
from typing import Any, NamedTuple

import orjson

from stream_app.deciding.context import Context, DefaultPolicy, Limits
from stream_app.privacy.noise.key import KeyRing
from tests.run import default
from tests.simulation.plans.units import UnitCourse, unit_courses

START_MS = 1_600_000_000_000
STEP_MS = 60_000
NUMBER = {"kind": "number", "lower": 0, "upper": 100, "resolution": 0.5}
COUNTS = {"kind": "counts", "keys": ["walk", "ride"], "sensitivity": 2}
CATEGORY = {"kind": "category", "categories": ["home", "work", "road"]}
LANDMARKS: list[int | list[int]] = [
    START_MS + 3 * STEP_MS,
    [START_MS + 6 * STEP_MS, START_MS + 8 * STEP_MS],
    START_MS + 14 * STEP_MS,
]

OWN: tuple[dict[str, Any], ...] = (
    {"protection": {"level": "landmark", "landmarks": LANDMARKS, "spare": 2}, "value": NUMBER},
    {"protection": {"level": "landmark", "landmarks": LANDMARKS, "window": 3}, "value": NUMBER},
    {"protection": {"level": "event"}, "value": COUNTS},
    {"protection": {"level": "user", "length": 12}, "value": CATEGORY},
    {"protection": {"level": "w-event", "window": 4}, "value": NUMBER, "scheme": {"name": "ba"}},
    {"protection": {"level": "landmark", "landmarks": LANDMARKS}, "scheme": {"name": "balanced"}, "value": COUNTS},
)
GATHERED: tuple[dict[str, Any], ...] = (
    {"protection": {"level": "event", "within": "sum", "open_steps": 2}, "value": NUMBER},
    {"protection": {"level": "user", "length": 12, "within": "last", "open_steps": 3}, "value": CATEGORY},
    {
        "protection": {"level": "landmark", "landmarks": LANDMARKS, "within": "mean", "open_steps": 1, "absent": 20},
        "value": NUMBER | {"invalid": 7.25},
    },
    {
        "protection": {"level": "w-event", "window": 4, "within": "max", "open_steps": 2, "absent": "approximated"},
        "value": NUMBER,
        "scheme": {"name": "bd"},
    },
)
"""Policies whose steps take several readings."""
RENEWED = ("landmark", "user")
"""Levels of policies that may begin again."""
_REPLACE, _ADD_REMOVE = ({"neighbours": way, "open_steps": 2} for way in ("replace", "add-remove"))
COLLECTED: tuple[dict[str, Any], ...] = (
    {"protection": {"level": "event"}, "value": COUNTS, "collect": _REPLACE},
    {"protection": {"level": "event"}, "value": NUMBER, "collect": _ADD_REMOVE | {"statistic": "sum"}},
    {
        "protection": {"level": "w-event", "window": 3},
        "value": NUMBER,
        "collect": _REPLACE | {"statistic": "mean", "intrusion_nano": 10**9},
        "scheme": {"name": "bd"},
    },
    {"protection": {"level": "user", "length": 12}, "value": NUMBER, "collect": _ADD_REMOVE | {"statistic": "mean"}},
    {"protection": {"level": "event"}, "value": {"kind": "choice", "items": ["walk", "ride"]}, "collect": _REPLACE},
)
_KEYS = ("0123456789abcdef", "fedcba9876543210", "00112233aabbccdd")
NAMES = ("meter-1", "crowd-1", "own-1", "meter-2", "own-2", "crowd-2", "own-3", "stray-1")
READ = "read"
"""Part of the ids of series whose steps take several readings."""
READING = ("read-1", "read-2", "meter-1", "read-3", "own-1")
SEPARATOR = "/"
OF_MEMBERS = (
    "p/meter-1",
    "crowd-1",
    "p/own-1",
    "p/own-2",
    "q/meter-2",
    "p/own-3",
    "q/own-4",
    "p/meter-3",
    "q",
    "p/stray-1",
)
"""Series of members, if there are any."""


FLEETS: dict[str, tuple[float, dict[str, Any]]] = {
    "van": (0.1, {"level": "landmark", "landmarks": LANDMARKS, "spare": 1}),
    "bus": (0.1, {"level": "user", "length": 30}),
    "cab": (2.0, {"level": "event"}),
}
"""Budgets and levels of the default policies of series that send together, by the text in their ids.

The noise of cabs is as small as the lifetime allows, so that the filter's effect on them shows.
"""


BUSIER = {1: 1, 3: 2, 8: 6, 20: 12}
"""The factor by which a fleet sends more at once, by the records in a batch: all is decided equally soon."""


class Sent(NamedTuple):
    """A record on its way to the events topic."""

    at: float
    """Seconds of virtual time."""
    key: bytes
    value: bytes


def context_of(
    key: int, configuration: int, partition_of: Callable[[bytes], int] | None, *, members: bool = False
) -> Context:
    """Return what a worker decides with, under the nth key and the nth configuration."""
    keys = KeyRing(_KEYS[key], 0, bytes(range(key, key + 32)))
    limits = Limits(lifetime_nano=2 * 10**9)
    if members:
        limits = replace(limits, member_separator=SEPARATOR, member_nano=(5, 4, 3)[configuration] * 10**9)
    return Context(keys, _defaults(configuration, "*meter-*" if members else "meter-*"), limits, partition_of)


@cache
def _defaults(configuration: int, glob: str) -> tuple[DefaultPolicy, ...]:
    protection = {"level": "landmark", "landmarks": LANDMARKS, "step": STEP_MS, "spare": 1}
    scheme = {"name": ("adaptive", "uniform", "balanced")[configuration]}
    bounds = [START_MS + step * STEP_MS + STEP_MS // 2 for step in (4, 7, 8, 13)]
    fleets = [
        default(
            f"*{name}-*",
            epsilon=epsilon,
            lifetime=epsilon,
            protection={"step": STEP_MS, **level},
            scheme={"name": ("uniform", "adaptive", "uniform")[configuration]},
            value=NUMBER,
            filter="none" if name == "van" else "level",
        )
        for name, (epsilon, level) in FLEETS.items()
    ]
    return (default(glob, protection=protection, scheme=scheme, value=NUMBER, renew=bounds), *fleets)


class _Course:
    """One series on its way."""

    def __init__(self, name: str, draw: Random, renewals: Random, crowds: tuple[dict[str, Any], ...]) -> None:
        self.name, self.key = name, name.partition(SEPARATOR)[0].encode()
        self._draw, self._renewals, self._crowds = draw, renewals, crowds
        self._step = 0
        self._version = 0
        self._value: dict[str, Any] = NUMBER
        self._chosen: dict[str, Any] | None = None
        self._defaults = any(name in self.name for name in ("meter", "stray", *FLEETS))
        self._gathers = False
        """Whether only watermarks open and close its steps."""

    def next(self) -> dict[str, Any] | bytes:
        """Return whatever comes next."""
        if self._version == 0 and not self._defaults:
            return self._policy()
        chance = self._draw.random()
        if chance < 0.04:
            return self._policy()
        if chance < 0.09:
            at = START_MS + self._draw.randrange(self._step + 6) * STEP_MS
            return {"type": "landmarks", "series": self.name, "add": [at]}
        if chance < 0.1:
            return {"type": "close", "series": self.name}
        if chance < 0.13:
            return self._draw.choice((b"", b"{", b"[]", b'{"series":"meter-1"}', b'{"series":"own-1","timestamp":-1}'))
        if self.name.startswith("crowd"):
            return self._collected(chance)
        if READ in self.name:
            return self._reading(chance)
        if chance > 0.94:
            return self._observation(max(0, self._step - self._draw.randrange(3)))
        return self.step()

    def step(self) -> dict[str, Any]:
        """Return an observation of a later step."""
        self._step += self._draw.choice((1, 1, 1, 2))
        return self._observation(self._step)

    def _policy(self) -> dict[str, Any]:
        self._version += self._renewals.choice((1, 1, 4))  # renewals use up numbers, too
        if self._chosen is None or self._draw.random() < 0.1:
            choices = self._crowds if self.name.startswith("crowd") else GATHERED if READ in self.name else OWN
            self._chosen = choices[0] if len(choices) == 1 else self._draw.choice(choices)
        chosen = self._chosen
        self._value, self._gathers = chosen["value"], "absent" in chosen["protection"]
        protection: dict[str, Any] = {"step": STEP_MS, **chosen["protection"]}
        if "landmarks" in protection:
            protection["landmarks"] = [mark for mark in LANDMARKS if _start(mark) > START_MS + self._step * STEP_MS]
        record: dict[str, Any] = {"type": "policy", "series": self.name, "version": self._version, "epsilon": 1.0}
        record |= {"scheme": {"name": "uniform"}} | chosen | {"protection": protection}
        if SEPARATOR in self.name and self._draw.random() < 0.6:
            record["lifetime"] = self._draw.choice((0.5, 1.0, 1.5, 2.5, 4.0))
        if protection["level"] in RENEWED and self._renewals.random() < 0.7:
            steps = sorted(self._renewals.sample(range(self._step, self._step + 12), 4))
            record |= {
                "epsilon": self._renewals.choice((0.3, 1.0)),
                "renew": [START_MS + step * STEP_MS for step in steps],
            }
        return record

    def _reading(self, chance: float) -> dict[str, Any]:
        """Return several readings per step, late, doubled and out of order, or a watermark."""
        if chance < (0.4 if self._gathers else 0.2) or (self._gathers and self._step == 0):
            self._step += self._draw.choice((0, 1, 1, 2))
            return {"type": "watermark", "series": self.name, "timestamp": START_MS + self._step * STEP_MS}
        self._step += not self._gathers and self._draw.random() < 0.3
        found = self._observation(max(0, self._step + self._draw.choice((-3, -1, -1, 0, 0, 0, 0, 1))))
        # Few moments of a step, so that some come twice.
        return found | {"timestamp": found["timestamp"] // STEP_MS * STEP_MS + self._draw.randrange(6)}

    def _observation(self, step: int) -> dict[str, Any]:
        value: Any = round(self._draw.random() * 100, 1)
        if self._value is COUNTS:
            value = {"walk": self._draw.randrange(20), "ride": self._draw.randrange(5)}
        if self._value is CATEGORY:
            value = self._draw.choice(("home", "work", "road"))
        if self._draw.random() < 0.03:
            value = "nothing of the kind"
        at = START_MS // STEP_MS * STEP_MS + step * STEP_MS + self._draw.randrange(STEP_MS)
        return {"series": self.name, "timestamp": at, "value": value}

    def _collected(self, chance: float) -> dict[str, Any]:
        if chance < 0.4 or self._step == 0:
            self._step += self._draw.choice((1, 1, 1, 2))
            seed = self._draw.randbytes(32).hex()
            at = START_MS + self._step * STEP_MS
            return {"type": "watermark", "series": self.name, "timestamp": at, "seed": seed}
        at = START_MS + (self._step + self._draw.choice((-1, 0, 0, 0, 1, 1, 2))) * STEP_MS
        record = {"type": "contribution", "series": self.name, "timestamp": max(0, at)}
        items = (0.5, 99.9, 250, "walk") if self._value is NUMBER else ("walk", "ride", "swim")
        return record | {"member": self._draw.choice("abcdefgh"), "value": self._draw.choice(items)}


def _start(mark: int | list[int]) -> int:
    return mark if isinstance(mark, int) else mark[0]


class _Caps:
    """What the records say about one member's cap."""

    def __init__(self, member: str, draw: Random) -> None:
        self.name, self.key, self._draw = member, member.encode(), draw

    def next(self) -> dict[str, Any]:
        return {"type": "member", "member": self.name, "epsilon": self._draw.choice((1.0, 2.5, 4.0, 5.5, 9.0))}


def input_of(
    seed: object, seconds: float, batch_records: int, *, members: bool, readings: bool, numbers: bool, units: bool
) -> tuple[Sent, ...]:
    """Return the records sent within so many seconds; with ``members`` series have members.

    A fleet sends more if a batch takes more, ``batch_records``. With ``numbers``, crowds also send numbers and choices.
    With ``readings``, a step of the first series takes several. With ``units``, there are series whose steps hold
    units.
    """
    draw = Random(f"input {seed}")
    renewals = Random(f"renewals {seed}")  # apart, so that a seed stands for the schedule that it stood for before
    names: tuple[str, ...] = OF_MEMBERS if members else NAMES
    if readings:
        names = tuple(f"p{SEPARATOR}{name}" if members else name for name in READING)
    chosen = names[: draw.randrange(3, len(names) + 1)]
    bursts = tuple(_bursts(seed, seconds, BUSIER[batch_records], members=members))
    courses: list[_Course | _Caps] = [
        _Course(name, draw, renewals, COLLECTED if numbers else COLLECTED[:1]) for name in chosen
    ]
    if members:
        courses += [_Caps(member, draw) for member in ("p", "q")[: draw.randrange(3)]]
    found = [*_sent(draw, courses, seconds, draw.randrange(20, 61)), *bursts]
    if units:
        draw, others, count = unit_courses(seed, prefix=f"p{SEPARATOR}" if members else "")
        found += _sent(draw, others, seconds, count)
    return tuple(sorted(found, key=lambda sent: sent.at))


def _bursts(seed: object, seconds: float, busier: int, *, members: bool) -> Iterator[Sent]:
    """Yield what the series of a fleet send, all at the same time: the result is decided as columns."""
    draw = Random(f"fleet {seed}")
    fleets = tuple(FLEETS)[:2] if members else tuple(FLEETS)  # what has no end takes no part of a cap
    kinds = fleets if draw.random() < 0.3 else (draw.choice(fleets),)
    names = [f"{draw.choice(kinds)}-{number}" for number in range(draw.choice((0, 4, 6, 8)))]
    courses = [
        _Course(f"{draw.choice('pq')}{SEPARATOR}{name}" if members else name, draw, draw, COLLECTED) for name in names
    ]
    for nth, at in enumerate(sorted(draw.random() * seconds for _ in range(draw.randrange(3, 7)))):
        for course in courses * (draw.choice((1, 2, 3)) * busier if nth else 1):  # the first one alone makes rows
            found = course.next() if draw.random() < 0.05 else course.step()
            yield Sent(at, course.key, orjson.dumps(found) if isinstance(found, dict) else found)


def _sent(draw: Random, courses: Sequence[_Course | _Caps | UnitCourse], seconds: float, count: int) -> Iterator[Sent]:
    for at in sorted(draw.random() * seconds for _ in range(count)):
        course = draw.choice(courses)
        found = course.next()
        key = b"elsewhere" if draw.random() < 0.02 else course.key
        yield Sent(at, key, found if isinstance(found, bytes) else orjson.dumps(found))
