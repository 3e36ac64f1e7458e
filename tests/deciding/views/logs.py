"""Logs of a series with views, and the results of each one alone."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson
from hypothesis import strategies as st

from stream_app.deciding.context import Context, DefaultPolicy, Limits
from tests.run import KEYS, NUMBER, Run, default
from tests.units import landmarks, reading, watermark

BASE = "p-17/sugar"
DAY, WEEK = f"{BASE}/day", f"{BASE}/week"
UNIT = 2
MEAN = NUMBER | {"statistic": "mean"}
LIMITS = Limits(member_separator="/", member_nano=10**15, lifetime_nano=2 * 10**14)


def base(**members: Any) -> DefaultPolicy:
    """Return the default policy of the series that have views; it releases each unit."""
    protection = {"level": "landmark", "step": UNIT, "spare": 3} | members.pop("protection", {})
    return default("p-*/sugar", **({"epsilon": 1.0} | members | {"protection": protection}))


def view(name: str, step: int, **members: Any) -> DefaultPolicy:
    """Return the default policy of a view: a mean of the units of each step."""
    protection = {"level": "landmark", "step": step, "unit": UNIT, "open_steps": 1, "spare": 3}
    protection |= members.pop("protection", {})
    made = default("p-*/sugar", **({"epsilon": 1e5, "value": MEAN} | members | {"protection": protection}))
    return replace(made, view=name)


VIEWS = (view("day", 8), view("week", 24))


def context(*defaults: DefaultPolicy, limits: Limits = LIMITS) -> Context:
    """Return a configuration, by default of a base with two views."""
    return Context(KEYS, defaults or (base(), *VIEWS), limits)


def run_of(*records: Mapping[str, Any], of: Context | None = None) -> Run:
    """Return a run that decided the given records."""
    return Run(of or context()).feed_all(records)


def entries(run: Run, series: str) -> list[Any]:
    """Return the parsed entries of a chain."""
    return [entry for entry in map(orjson.loads, run.ledger) if entry["series"] == series]


def refused(run: Run) -> list[tuple[str | None, str, int]]:
    """Return series, reason and input of each reject."""
    return [(one["series"], one["reason"], one["offset"]) for one in map(orjson.loads, run.rejects)]


@st.composite
def logs(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Return records of one base with views and of another series: in time or not, valid or not."""
    now, found = 0, []
    for _ in range(draw(st.integers(1, 40))):
        now += draw(st.integers(0, 9))
        at = max(0, now - draw(st.sampled_from((0, 0, 0, 1, 5, 20))))
        match draw(st.sampled_from("rrrrrrrrwlllvc" if draw(st.booleans()) else "rrrrrw")):
            case "r":
                series = draw(st.sampled_from((BASE, BASE, BASE, "p-17/other", DAY)))
                found.append(reading(at, draw(st.sampled_from((1.5, 7, 99, "x"))), series))
            case "w":
                found.append(watermark(at, draw(st.sampled_from((BASE, DAY)))))
            case "l":
                found.append(landmarks(draw(st.sampled_from((at, now + 30, [now + 4, now + 9]))), series=BASE))
            case "v":
                found.append({"type": "policy", "series": BASE, **version(draw(st.integers(2, 5)), now)})
            case _ if len(found) > 20:
                found.append({"type": "close", "series": BASE})
            case _:
                pass
    return found


def version(number: int, now: int) -> dict[str, Any]:
    """Return a version of the base's policy that adds future landmarks."""
    protection = {"level": "landmark", "step": UNIT, "landmarks": [now + 40, [now + 50, now + 60]]}
    scheme, value = {"name": "uniform"}, NUMBER
    return {"version": number, "epsilon": 1.0, "protection": protection, "scheme": scheme, "value": value}
