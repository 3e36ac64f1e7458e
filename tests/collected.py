"""Logs of collected data: handwritten records, and whole schedules from Hypothesis."""

from typing import Any

from hypothesis import strategies as st

from tests.run import BALANCED, UNIFORM, policy

SERIES = ("ward-3", "größe")
STEP = 10
SEED = "5e" * 32
NUMBER: dict[str, object] = {"kind": "number", "lower": -2, "upper": 5, "resolution": 0.5}
REPLACE: dict[str, object] = {"neighbours": "replace", "open_steps": 2}
PAN_PRIVATE = REPLACE | {"intrusion_nano": 10**9}


def collected(
    version: int = 1, collect: object = REPLACE, *, series: str = SERIES[0], **members: object
) -> dict[str, object]:
    """Return a policy for collected data whose budget makes its noise 0 almost surely."""
    plain: dict[str, object] = {
        "epsilon": 1e5,
        "protection": {"level": "event", "step": STEP},
        "value": {"kind": "counts", "keys": ["walk", "ride"]},
    }
    return policy(series, version, **(plain | {"collect": collect} | members))


def contribution(timestamp_ms: int, member: str, value: object, series: str = SERIES[0]) -> dict[str, object]:
    """Return a contribution record."""
    return {
        "type": "contribution",
        "series": series,
        "timestamp": timestamp_ms,
        "member": member,
        "value": value,
    }


def watermark(timestamp_ms: int, seed: str = SEED, series: str = SERIES[0]) -> dict[str, object]:
    """Return a watermark record."""
    return {"type": "watermark", "series": series, "timestamp": timestamp_ms, "seed": seed}


def intrusion(seed: str = "a1" * 32, series: str = SERIES[0]) -> dict[str, object]:
    """Return an announced intrusion."""
    return {"type": "intrusion", "series": series, "seed": seed}


PROTECTIONS: tuple[dict[str, object], ...] = (
    {"level": "event", "step": STEP},
    {"level": "landmark", "step": STEP, "landmarks": [[20, 40], 70], "spare": 1},
    {"level": "landmark", "step": 3, "landmarks": [150]},
    {"level": "user", "step": STEP, "length": 4},
    {"level": "w-event", "step": STEP, "window": 3},
)
ADAPTIVE: dict[str, object] = {"name": "adaptive", "minimum": 0.2}
SCHEMES_OF: dict[str, tuple[dict[str, object], ...]] = {
    "event": (UNIFORM, ADAPTIVE, BALANCED),
    "landmark": (UNIFORM, ADAPTIVE, BALANCED),
    "user": (UNIFORM, ADAPTIVE),
    "w-event": (UNIFORM, {"name": "bd", "minimum": 0.2}, {"name": "ba"}),
}


GATHERED: dict[str, tuple[dict[str, object], dict[str, object], tuple[object, ...]]] = {
    "counts": ({"kind": "counts", "keys": ["walk", "ride"]}, {}, ("walk", "ride", "walk", "ride", "swim", 7)),
    "sum": (NUMBER, {"statistic": "sum"}, (0.3, -1.26, 4.9, 99, -7, "walk")),
    "mean": (NUMBER, {"statistic": "mean"}, (0.3, -1.26, 4.9, 99, -7, None)),
    "choice": ({"kind": "choice", "items": ["walk", "ride"]}, {}, ("walk", "ride", "walk", "ride", "swim", 7)),
}
"""Values that may be collected: the value, a member of `collect`, and what contributors send."""
SAMPLED = ("adaptive", "bd", "ba")


@st.composite
def schedules(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Return a log of two series: first policies, then records of all kinds, in and out of time."""
    versions = dict.fromkeys(SERIES, 0)
    gathered = {series: GATHERED[draw(st.sampled_from(("counts", *GATHERED)))] for series in SERIES}
    now = 0
    log: list[dict[str, Any]] = []

    def versioned(series: str) -> dict[str, Any]:
        versions[series] += 1
        collect: dict[str, object] = {"neighbours": draw(st.sampled_from(("replace", "replace", "add-remove")))}
        value, statistic, _ = gathered[series] if draw(st.integers(0, 9)) else GATHERED["mean"]
        collect |= statistic
        if collect["neighbours"] == "replace" and value["kind"] != "choice" and draw(st.integers(0, 3)):
            collect["intrusion_nano"] = draw(st.sampled_from((3 * 10**8, 10**9, 10**12)))
        collect["open_steps"] = draw(st.integers(1, 4))
        protection = draw(st.sampled_from(PROTECTIONS))
        scheme = draw(st.sampled_from(SCHEMES_OF[str(protection["level"])]))
        if scheme["name"] in SAMPLED and (collect["neighbours"], statistic) == ("add-remove", {"statistic": "mean"}):
            scheme = UNIFORM
        members = {"epsilon": draw(st.sampled_from((0.5, 2, 1000))), "protection": protection, "scheme": scheme}
        members["value"] = value
        return collected(versions[series], collect, series=series, **members)

    log += [versioned(series) for series in SERIES]
    log += [watermark(0, _seed(draw), series) for series in SERIES]
    for chance in draw(st.binary(min_size=1, max_size=80)):
        series = SERIES[chance % 2]
        match chance // 2 % 32:
            case 0:
                log.append(versioned(series))
            case 1 | 2 | 3:
                log.append(intrusion(_seed(draw), series))
            case 4:
                log.append({"type": "landmarks", "series": series, "add": [draw(st.integers(0, 150))]})
            case 5 if draw(st.integers(0, 9)) == 0:
                log.append({"type": "close", "series": series})
            case nth if nth < 12:
                now += draw(st.integers(-4, 25))
                log.append(watermark(max(0, now), _seed(draw), series))
            case _:
                at = max(0, now + draw(st.integers(-5, 30)))
                value = draw(st.sampled_from(gathered[series][2]))
                log.append(contribution(at, draw(st.sampled_from("abcdefgh")), value, series))
    return log


def _seed(draw: st.DrawFn) -> str:
    return draw(st.binary(min_size=32, max_size=32)).hex()
