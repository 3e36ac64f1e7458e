"""Logs of series whose steps hold units: records by hand, and whole schedules by Hypothesis."""

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from tests.run import NUMBER, policy

SERIES = ("sugar-1", "sugar-2")
STEP, UNIT = 40, 2
CATEGORY: dict[str, object] = {"kind": "category", "categories": ["home", "work", True]}
NUMBERS: tuple[dict[str, object], ...] = (
    {"statistic": "mean"},
    {"statistic": "sum"},
    {"statistic": "share", "from": 2, "to": 5},
    {"statistic": "histogram", "edges": [2.5, 5]},
    {"statistic": "mean", "by": "weekday", "transitions": [[0, 0], [70, 86_400_000]]},
    {"statistic": "sum", "by": "hour"},
)
PROTECTIONS: tuple[dict[str, object], ...] = (
    {"level": "landmark", "step": STEP, "unit": UNIT, "open_steps": 2},
    {"level": "landmark", "step": STEP, "unit": 8, "window": 3, "offset": 6, "open_steps": 1, "spare": 2},
    {"level": "event", "step": 20, "unit": 20, "open_steps": 3},
    {"level": "landmark", "step": 38, "unit": 1, "window": 2, "open_steps": 2, "landmarks": [[90, 100], 120]},
)


def units(version: int = 1, series: str = SERIES[0], **members: Any) -> dict[str, Any]:
    """Return a policy of units, with a budget that makes its noise 0 almost surely."""
    protection = {"level": "event", "step": STEP, "unit": UNIT, "open_steps": 2} | members.pop("protection", {})
    value = NUMBER | {"statistic": "mean"} | members.pop("value", {})
    return policy(series, version, **({"epsilon": 1e6} | members | {"protection": protection, "value": value}))


def reading(timestamp_ms: int, value: object, series: str = SERIES[0]) -> dict[str, Any]:
    """Return a reading."""
    return {"series": series, "timestamp": timestamp_ms, "value": value}


def watermark(timestamp_ms: int, series: str = SERIES[0]) -> dict[str, Any]:
    """Return a watermark."""
    return {"type": "watermark", "series": series, "timestamp": timestamp_ms}


def landmarks(*spans: object, series: str = SERIES[0]) -> dict[str, Any]:
    """Return a registration."""
    return {"type": "landmarks", "series": series, "add": list(spans)}


@st.composite
def forms(draw: st.DrawFn) -> dict[str, Any]:
    """Return how a policy differs from the usual one."""
    protection = dict(draw(st.sampled_from(PROTECTIONS)))
    value: Mapping[str, object] = draw(st.sampled_from(NUMBERS))
    aggregates = ["last", "max", "sum", "mean"]
    if draw(st.integers(0, 4)) == 0:
        value, aggregates = CATEGORY | {"statistic": "histogram"}, ["last"]
    else:
        value = NUMBER | dict(value) | draw(st.sampled_from(({}, {"invalid": 4.25})))
    if (aggregate := draw(st.sampled_from((None, *aggregates)))) is not None:
        protection["within"] = aggregate
    schemes = ["uniform", "balanced"] if "by" in value else ["uniform", "balanced", "adaptive"]
    found: dict[str, Any] = {
        "protection": protection,
        "value": value,
        "scheme": {"name": draw(st.sampled_from(schemes))},
    }
    if protection["level"] == "landmark" and draw(st.booleans()):
        found["renew"] = [45, 100, 190]
    return found


@st.composite
def schedules(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Return a log of two series: policies first, then all sorts of records, on time or not."""
    versions = dict.fromkeys(SERIES, 0)
    chosen: dict[str, dict[str, Any]] = {}
    now = 0

    def versioned(series: str) -> dict[str, Any]:
        versions[series] += draw(st.sampled_from((1, 1, 5)))  # renewals use up numbers, too
        if series not in chosen or draw(st.integers(0, 2)) == 0:
            chosen[series] = draw(forms())
        form = dict(chosen[series])
        if now:  # what was landmarks then is passed
            form["protection"] = {name: part for name, part in form["protection"].items() if name != "landmarks"}
        weaker = {"weaker": True} if draw(st.booleans()) else {}
        return units(versions[series], series, epsilon=draw(st.sampled_from((0.5, 1000.0))), **form, **weaker)

    log = [versioned(series) for series in SERIES]
    for chance in draw(st.binary(min_size=1, max_size=120)):
        series = SERIES[chance % 2]
        match chance // 2 % 32:
            case 0:
                log.append(versioned(series))
            case 1:
                at = draw(st.integers(0, 250))
                log.append(landmarks(draw(st.sampled_from((at, [at, at + 15]))), series=series))
            case 2 if draw(st.integers(0, 9)) == 0:
                log.append({"type": "close", "series": series})
            case nth if nth < 6:
                now += draw(st.integers(-4, 45))
                log.append(watermark(max(0, now), series))
            case _:
                now += draw(st.sampled_from((0, 1, 3, 9)))
                at = max(0, now + draw(st.sampled_from((0, 0, 0, 0, -1, -5, -40, 50))))
                values = (
                    ("home", True, "none") if chosen[series]["value"]["kind"] == "category" else (1, 2.5, 11, "none")
                )
                log.append(reading(at, draw(st.sampled_from(values)), series))
    return log
