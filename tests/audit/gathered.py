"""Drawn logs of collected sums, means and choices, under every scheme that allows them."""

from typing import Any

from hypothesis import strategies as st

from tests.collected import PROTECTIONS, SCHEMES_OF, collected, contribution, intrusion, watermark

SERIES = ("feeder-2", "größe")
CHOICE: dict[str, object] = {"kind": "choice", "items": ["north", "south", "west"]}
NUMBERS: tuple[dict[str, object], ...] = (
    {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.5},
    {"kind": "number", "lower": -3, "upper": 8, "resolution": 0.3, "clamp": False},
    {"kind": "number", "lower": 4, "upper": 9, "resolution": 1},
)
ITEMS: dict[str, tuple[object, ...]] = {
    "number": (0, 0.1, 3.3, 5, 7.7, 40, -2, "north", None),
    "choice": ("north", "south", "south", "west", "east", 3),
}
WITH_RATES = ("adaptive", "bd", "ba")


@st.composite
def policies(draw: st.DrawFn, series: str, version: int) -> dict[str, Any]:
    """Return a policy that collects a sum, a mean or a choice."""
    collect: dict[str, object] = {"neighbours": draw(st.sampled_from(("replace", "add-remove")))}
    collect["open_steps"] = draw(st.integers(1, 4))
    value = draw(st.sampled_from((CHOICE, *NUMBERS)))
    if value["kind"] == "number":
        collect["statistic"] = draw(st.sampled_from(("sum", "mean")))
        if collect["neighbours"] == "replace" and draw(st.booleans()):
            collect["intrusion_nano"] = draw(st.sampled_from((3 * 10**8, 10**12)))
    protection = draw(st.sampled_from(PROTECTIONS))
    schemes = list(SCHEMES_OF[str(protection["level"])])
    if collect.get("statistic") == "mean" and collect["neighbours"] == "add-remove":
        schemes = [scheme for scheme in schemes if scheme["name"] not in WITH_RATES]
    epsilon = draw(st.sampled_from((5e-9, 1e-6, 0.5, 2.0, 1000.0)))  # of a few nano, some shares are 1
    members = {"epsilon": epsilon, "protection": protection, "scheme": draw(st.sampled_from(schemes)), "value": value}
    return collected(version, collect, series=series, weaker=True, **members)


@st.composite
def schedules(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Return a log of two series: policies first, then all sorts of records, some in time and some not."""
    versions, kinds = dict.fromkeys(SERIES, 0), dict.fromkeys(SERIES, "")
    now = 0
    log: list[dict[str, Any]] = []

    def rule(series: str) -> None:
        versions[series] += 1
        log.append(draw(policies(series, versions[series])))
        kinds[series] = log[-1]["value"]["kind"]

    for series in SERIES:
        rule(series)
        log.append(watermark(0, draw(st.binary(min_size=32, max_size=32)).hex(), series))
    for chance in draw(st.binary(min_size=1, max_size=80)):
        series = SERIES[chance % 2]
        match chance // 2 % 32:
            case 0:
                rule(series)
            case 1:
                log.append(intrusion(series=series))
            case 2:
                log.append({"type": "landmarks", "series": series, "add": [draw(st.integers(0, 150))]})
            case nth if nth < 11:
                now += draw(st.integers(-4, 25))
                log.append(watermark(max(0, now), f"{chance:02x}" * 32, series))
            case _:
                at = max(0, now + draw(st.integers(-5, 30)))
                item = draw(st.sampled_from(ITEMS[kinds[series]]))
                log.append(contribution(at, draw(st.sampled_from("abcdefgh")), item, series))
    return log
