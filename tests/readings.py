"""Logs of plain series whose steps take several readings: records by hand, and whole schedules by Hypothesis."""

from typing import Any

from hypothesis import strategies as st

from stream_app.deciding.collection import Collection, Readings
from tests.collected import SCHEMES_OF, SERIES, STEP
from tests.run import NUMBER, policy

AGGREGATES = ("last", "sum", "mean", "max")
CATEGORY: dict[str, object] = {"kind": "category", "categories": ["home", "work", "road"]}
ABSENT: tuple[dict[str, object], ...] = ({}, {"absent": "approximated"}, {"absent": 2.5})
PROTECTIONS: tuple[dict[str, object], ...] = (
    {"level": "event", "step": STEP},
    {"level": "landmark", "step": STEP, "landmarks": [[20, 40], 70], "spare": 1},
    {"level": "landmark", "step": STEP, "landmarks": [70], "window": 2},
    {"level": "user", "step": STEP, "length": 4},
    {"level": "w-event", "step": STEP, "window": 3},
)


def read_of(collection: Collection, series: str) -> dict[int, Readings]:
    """Return what the open steps of a plain series have read."""
    return {index: step for index, step in collection.opened(series).items() if isinstance(step, Readings)}


def within(
    version: int = 1, aggregate: str = "sum", open_steps: int = 2, series: str = SERIES[0], **members: Any
) -> dict[str, Any]:
    """Return a policy of several readings per step, with a budget that makes its noise 0 almost surely."""
    protection = {"level": "event", "step": STEP, "within": aggregate, "open_steps": open_steps}
    protection |= members.pop("protection", {})
    return policy(series, version, **({"epsilon": 1e5, "value": NUMBER} | members | {"protection": protection}))


def reading(timestamp_ms: int, value: object, series: str = SERIES[0]) -> dict[str, Any]:
    """Return a reading."""
    return {"series": series, "timestamp": timestamp_ms, "value": value}


def watermark(timestamp_ms: int, series: str = SERIES[0]) -> dict[str, Any]:
    """Return a watermark without a seed."""
    return {"type": "watermark", "series": series, "timestamp": timestamp_ms}


@st.composite
def schedules(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Return a log of two series: policies first, then all sorts of records, on time or not."""
    versions = dict.fromkeys(SERIES, 0)
    forms: dict[str, dict[str, object]] = {}
    now = 0
    log: list[dict[str, Any]] = []

    def versioned(series: str) -> dict[str, Any]:
        versions[series] += draw(st.sampled_from((1, 1, 5)))  # renewals use up numbers, too
        if series not in forms or draw(st.integers(0, 2)) == 0:
            aggregate, open_steps = draw(st.sampled_from(AGGREGATES)), draw(st.integers(1, 4))
            forms[series] = {"within": aggregate, "open_steps": open_steps} | draw(st.sampled_from(ABSENT))
        protection = draw(st.sampled_from(PROTECTIONS)) | forms[series]
        level = str(protection["level"])
        scheme = {"name": "uniform"} if "window" in protection else draw(st.sampled_from(SCHEMES_OF[level]))
        members: dict[str, Any] = {"epsilon": draw(st.sampled_from((0.5, 2.0, 1000.0))), "scheme": scheme}
        if draw(st.booleans()):
            members["value"] = NUMBER | {"invalid": 4.25}
        if level in {"landmark", "user"} and draw(st.booleans()):
            members["renew"] = [25, 60, 115]
        return within(versions[series], series=series, protection=protection, **members)

    log += [versioned(series) for series in SERIES]
    for chance in draw(st.binary(min_size=1, max_size=80)):
        series = SERIES[chance % 2]
        match chance // 2 % 32:
            case 0:
                log.append(versioned(series))
            case 1:
                log.append({"type": "landmarks", "series": series, "add": [draw(st.integers(0, 150))]})
            case 2 if draw(st.integers(0, 9)) == 0:
                log.append({"type": "close", "series": series})
            case nth if nth < 9:
                now += draw(st.integers(-4, 25))
                log.append(watermark(max(0, now), series))
            case _:
                now += draw(st.sampled_from((0, 0, 1, 8)))
                at = max(0, now + draw(st.integers(-15, 15)))
                log.append(reading(at, draw(st.sampled_from((1, 2.5, 0.1004, 11, -3.0, "none", None))), series))
    return log
