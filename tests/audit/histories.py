"""Event logs by Hypothesis, decided by the worker's own fold: true ledgers that an audit must find true."""

from typing import Any, NamedTuple

import orjson
from hypothesis import strategies as st

from stream_app.deciding.collection import Collection
from stream_app.deciding.context import Context, Limits
from stream_app.deciding.decision import decide
from stream_app.deciding.outcome import ProcessedRecord, RejectedRecord
from stream_app.deciding.rows import SeriesRow
from stream_app.formats.records import InputRecord
from stream_app.privacy.noise.key import KeyRing
from tests.run import SAMPLES

HORIZON = 60  # steps
DAY_MS = 86_400_000
ADVANCES = (1, 1, 1, 2, 1, 1, 1, 0, 1, 9)  # steps from one event to the next
REGISTRATION, NEW_POLICY, END = range(70, 79), range(79, 84), range(84, 85)  # of 85 chances; the rest are events
SERIES = ("a", 'b"', "ç")

epsilons = st.one_of(
    st.integers(1, 300).map(lambda nano: float(f"{nano}e-9")),  # so small that every rounding shows
    st.floats(1e-9, 10.0),
    st.integers(1, 3),
)
PARTS = {"y": {"lower": 0, "upper": 10, "resolution": 0.5}, "x": {"lower": -1, "upper": 1, "resolution": 0.1}}
HIGH = {"x": 1, "y": 9}
DATA: dict[str, Any] = {
    "number": 3.25,
    "counts": {"x": 3, "y": 0},
    "category": "in",
    "vector": {"x": 0.3, "y": 7},
    "location": {"latitude": -10.93934, "longitude": -37.06274},
}
OTHERS = {name: sample for name, sample in SAMPLES.items() if name not in DATA}
DATA |= {name: sample.values[0] for name, sample in OTHERS.items()}
values = st.one_of(
    st.fixed_dictionaries(
        {
            "kind": st.just("number"),
            "lower": st.just(0),
            "upper": st.just(10),
            "resolution": st.sampled_from((0.001, 1)),
        },
        optional={"sensitivity": st.sampled_from((0.5, 3, 100))},
    ),
    st.fixed_dictionaries(
        {"kind": st.just("counts"), "keys": st.just(["x", "y"])}, optional={"sensitivity": st.integers(1, 9)}
    ),
    st.just({"kind": "category", "categories": ["in", "out", True]}),
    st.fixed_dictionaries(
        {
            "kind": st.just("location"),
            "radius": st.sampled_from((50, 120.5)),
            "resolution": st.just(10),
            "bounds": st.just({"south": -10.95, "west": -37.1, "north": -10.9, "east": -37}),
        }
    ),
    st.fixed_dictionaries(
        {"kind": st.just("vector"), "parts": st.just(PARTS)},
        optional={"clamp": st.booleans(), "invalid": st.just(HIGH)},
    ),
    *(st.just(sample.declared) for sample in OTHERS.values()),
)
dummies = st.one_of(
    st.fixed_dictionaries(
        {"method": st.sampled_from(("heuristic", "partitioned")), "utility": st.sampled_from(("proximity", "count"))},
        optional={"fraction": st.sampled_from((1e-9, 0.1, 0.999))},
    ),
    st.fixed_dictionaries({"method": st.just("padding"), "probability": st.sampled_from((0.05, 0.5, 1))}),
)


class History(NamedTuple):
    """The contents of the topics after a log, in order, and the lifetime under which it was decided."""

    ledger: list[bytes]
    releases: list[bytes]
    rejects: list[bytes]
    lifetime_nano: int | None
    spends_nano: list[int]  # what the fold measured with each entry
    rows: dict[str, SeriesRow]  # of the series at the end


@st.composite
def spans(draw: st.DrawFn, step: int) -> list[int | list[int]]:
    """Return landmark timestamps and intervals, aligned to steps or not."""
    found: list[int | list[int]] = []
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, HORIZON * step))
        length = draw(st.integers(0, 5 * step))
        found.append([start, start + length] if length else start)
    return found


@st.composite
def policies(draw: st.DrawFn, series: str, version: int) -> dict[str, Any]:
    """Return a policy record at level event, user or w-event, or at level landmark, with or without dummies."""
    step = draw(st.sampled_from((1, 7, 1000, DAY_MS)))
    level = draw(st.sampled_from(("landmark",) * 4 + ("event", "user", "w-event", "w-event")))
    protection: dict[str, Any] = {"level": level, "step": step}
    if level == "landmark":
        protection |= {"landmarks": draw(spans(step)), "spare": draw(st.integers(0, 4))}
        window = draw(st.sampled_from((None, None, 1, 2, 3, 5, 12)))
        protection |= {"window": window} if window else {}
    if level == "user":
        protection["length"] = draw(st.integers(1, HORIZON))
    record = {"type": "policy", "series": series, "version": version, "epsilon": draw(epsilons), "value": draw(values)}
    if level in {"landmark", "user"} and draw(st.booleans()):
        record["renew"] = sorted(draw(st.sets(st.integers(0, HORIZON * step), max_size=4)))
    if level == "w-event":
        protection["window"] = draw(st.sampled_from((1, 2, 3, 5, 12)))
        return record | {"protection": protection, "scheme": draw(st.sampled_from(window_schemes(record, protection)))}
    schemes = [{"name": "uniform"}, {"name": "adaptive"}, {"name": "adaptive", "decrease": 0.9, "minimum": 0.0}]
    if level != "user":
        share = draw(st.sampled_from((0, 0.123456789, 0.5, 1)))
        schemes += [{"name": "skip", "accept_risk": True}, {"name": "balanced", "regular_share": share}]
    if protection.get("window", 1) > 1:
        schemes += [{"name": "bd"}, {"name": "ba"}, {"name": "ba", "decrease": 0.9, "minimum": 0.0}]
    if level == "landmark" and draw(st.integers(0, 3)) == 0:
        protection["spare"] = 0
        record["dummies"] = draw(dummies) | {"start": 0, "end": (HORIZON + 6) * step}
    return record | {"protection": protection, "scheme": draw(st.sampled_from(schemes))}


def window_schemes(record: dict[str, Any], protection: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the schemes of level w-event, with private dissimilarities if the rest of the policy allows them."""
    rates: tuple[dict[str, Any], ...] = ({}, {"decrease": 0.9, "minimum": 0.0})
    schemes = [{"name": "uniform"}, *({"name": name} | rate for name in ("bd", "ba") for rate in rates)]
    if record["value"]["kind"] in {"number", "counts"} and record["epsilon"] * 1e9 > 2 * protection["window"]:
        schemes += [{"name": name, "dissimilarity": "private"} for name in ("bd", "ba")] * 2
    return schemes


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Return a log of up to three series, with registrations, versions and ends, as decided by the fold."""
    lifetime = draw(st.sampled_from((None, None, 10**9, 10**10)))
    epoch_ms = draw(st.sampled_from((None, DAY_MS)))
    context = Context(
        KeyRing("0123456789abcdef", 0, b"k" * 32, epoch_ms), (), Limits(lifetime, accept_weaker_policies=True)
    )
    history = History([], [], [], lifetime, [], {})
    rows = history.rows
    collection = Collection(bytes(32))
    in_force: dict[str, dict[str, Any]] = {}
    now = dict.fromkeys(SERIES, 0)
    # One byte a record: single draws would take ten times as long as all that is tested.
    size = draw(st.integers(1, 120))
    for byte in draw(st.binary(min_size=size, max_size=size)):
        chance, series = byte // len(SERIES), SERIES[byte % len(SERIES)]
        policy = in_force.get(series)
        if policy is None or chance in NEW_POLICY:
            ruling = rows[series].policy.version if series in rows else draw(st.integers(0, 2))
            record = draw(policies(series, ruling + 1))
            record["weaker"] = bool(byte % 4)
        elif chance in REGISTRATION:
            record = {"type": "landmarks", "series": series, "add": draw(spans(policy["protection"]["step"]))}
        elif chance in END:
            record = {"type": "close", "series": series}
        else:
            now[series] += ADVANCES[chance % len(ADVANCES)] * policy["protection"]["step"]
            record = {"series": series, "timestamp": now[series], "value": DATA[policy["value"]["kind"]]}
        outcome = decide(context, rows.get, collection, InputRecord("events", 0, 0, 0, None, orjson.dumps(record)))
        if isinstance(outcome, RejectedRecord):
            history.rejects.append(outcome.value)
            continue
        assert isinstance(outcome, ProcessedRecord)
        rows[series] = outcome.row
        if record.get("type") == "policy":
            in_force[series] = record
        history.ledger.extend(entry.value for entry in outcome.entries)
        history.spends_nano.append(outcome.spent_nano)
        history.releases.extend([outcome.release] if outcome.release else [])
    return history
