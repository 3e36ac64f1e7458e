"""Two implementations agree on units: the audit accepts the worker's decisions, and finds frauds in them."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from stream_app.deciding.collection import Collection
from stream_app.deciding.context import Context, Limits
from stream_app.deciding.decider import Decider
from stream_app.formats.records import InputRecord
from stream_app.privacy.noise.key import KeyRing
from tests.audit.frauds import units as unit_frauds
from tests.audit.frauds.forged import Fraud
from tests.audit.ways import audit, codes
from tests.audit.written import Written
from tests.deciding.units.test_batches import Out, outlets
from tests.units import CATEGORY, NUMBERS, PROTECTIONS, SERIES, landmarks, reading, schedules, units, watermark

LIFETIME_NANO = 10**15
MANY_LEDGERS = 1_000
"""As `make long` has them."""
PLAIN: tuple[dict[str, Any], ...] = (
    {"protection": {"level": "event", "step": 20}},
    {"protection": {"level": "landmark", "step": 7, "window": 4, "landmarks": [[300, 310]]}},
    {"protection": {"level": "w-event", "step": 13, "window": 3}},
    {"protection": {"level": "landmark", "step": 40, "within": "last", "open_steps": 1}},
)
"""Policies without units, which wait for those with units, and for which those wait."""
VALUE = {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.5}


@st.composite
def mixed(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Return a log in which some versions have no units."""
    log = draw(schedules())
    for nth, record in enumerate(log):
        if record.get("type") == "policy" and draw(st.integers(0, 2)) == 0:
            form = draw(st.sampled_from(PLAIN))
            kept: dict[str, Any] = {
                name: record[name] for name in ("type", "series", "version", "epsilon", "weaker") if name in record
            }
            log[nth] = {**kept, **form, "scheme": {"name": "uniform"}, "value": VALUE}
    return log


def decided(log: list[dict[str, Any]]) -> Out:
    """Return what the worker's path makes from a log, by topic."""
    limits = Limits(lifetime_nano=LIFETIME_NANO, accept_weaker_policies=True)
    context = Context(KeyRing("0123456789abcdef", 0, bytes(range(32)), 1_000), limits=limits)
    out: Out = {}
    records = [InputRecord("events", 0, nth, nth, None, orjson.dumps(one)) for nth, one in enumerate(log)]
    Decider(context, _none, outlets(out), Collection(bytes(32))).decide(records)
    return out


def _none(_: str) -> None:
    """Find no row, because each log is the first one of its series."""


def lines(out: Out, topic: str) -> list[bytes]:
    """Return the records of a topic."""
    return [value for _, value, _, _ in out.get(topic, ())]


def test_a_decided_log_of_units_holds(ledgers: int) -> None:
    """There is no finding, with or without releases; versions wait, late units are charged, landmarks left out."""

    @settings(max_examples=2 * ledgers, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(st.one_of(schedules(), mixed()))
    def holds(log: list[dict[str, Any]]) -> None:
        out = decided(log)
        ledger, releases = lines(out, "ledger"), lines(out, "releases")
        report = audit(ledger, releases, LIFETIME_NANO)
        assert report.findings == ()
        assert audit(ledger, lifetime_nano=LIFETIME_NANO).findings == ()
        assert {remark.code for remark in report.remarks} <= {"weaker-marked"}
        assert report.releases == len(releases)
        event(f"released: {bool(releases)}")
        entries = [orjson.loads(line) for line in ledger]
        event(f"charged: {any(entry.get('charged_nano') for entry in entries)}")

    holds()


class Draws:
    """Draws of a seed."""

    def __init__(self, seed: int) -> None:
        self._drawn = np.random.default_rng(seed)

    def below(self, end: int) -> int:
        """Return a number from 0 to ``end - 1``."""
        return int(self._drawn.integers(end))

    def one_of(self, items: Sequence[Any]) -> Any:
        """Return one of some items."""
        return items[self.below(len(items))]


def long_log(seed: int) -> list[dict[str, Any]]:
    """Return a long log of one series: versions, registrations, readings, and an occasional gap."""
    drawn = Draws(seed)
    log: list[dict[str, Any]] = []
    now = 0
    for version in range(1, 3 + drawn.below(3)):
        form = _form(drawn)
        if version > 1:
            form["protection"] = {name: part for name, part in form["protection"].items() if name != "landmarks"}
        log.append(units(version, epsilon=drawn.one_of((1e-7, 0.5, 3.0)), **form) | {"weaker": True})
        if drawn.below(4) == 0:
            log[-1] |= drawn.one_of(PLAIN) | {"scheme": {"name": "uniform"}, "value": VALUE}
            log[-1].pop("renew", None)
        categories = log[-1]["value"]["kind"] == "category"
        for _ in range(40 + drawn.below(120)):
            now += drawn.one_of((0, 1, 1, 2, 3, 9))
            log.append(reading(now, drawn.one_of(("home", True) if categories else (1, 2.5, 4.75, 11))))
            if drawn.below(12) == 0:
                at = max(0, now + drawn.below(180) - 90)
                log.append(landmarks([at, at + 1 + drawn.below(29)]))
            now += 60 * (drawn.below(40) == 0)
        now += drawn.one_of((0, 3, 40, 90))
        log.append(watermark(now))
    return [*log, {"type": "close", "series": SERIES[0]}] if drawn.below(3) == 0 else log


def _form(drawn: Draws) -> dict[str, Any]:
    value = drawn.one_of((*NUMBERS, CATEGORY | {"statistic": "histogram"}))
    schemes = ("uniform", "balanced") if "by" in value else ("uniform", "balanced", "adaptive")
    protection = dict(drawn.one_of(PROTECTIONS))
    if protection["level"] == "landmark":
        protection |= {"spare": drawn.one_of((0, 2, 20))}
    if "kind" not in value:
        protection |= {"within": drawn.one_of(("last", "max", "sum", "mean"))}
        value = value | {"clamp": drawn.one_of((True, False))}
    return {"protection": protection, "value": value, "scheme": {"name": drawn.one_of(schemes)}}


def chain(seed: int) -> Written:
    """Return what the worker's path makes from a long log."""
    out = decided(long_log(seed))
    entries, releases = (list(map(orjson.loads, lines(out, topic))) for topic in ("ledger", "releases"))
    return Written(entries, releases, LIFETIME_NANO)


def test_long_logs_hold(ledgers: int) -> None:
    """The same holds for series with many steps; together they have everything that units add."""
    met: Counter[str] = Counter()
    for seed in range(ledgers):
        written = chain(seed)
        report = audit(written.lines(), written.release_lines(), LIFETIME_NANO)
        assert report.findings == (), seed
        assert {remark.code for remark in report.remarks} <= {"weaker-marked"}
        for entry in written.entries:
            met[f"charged: {entry.get('charged_nano', 0) > 0}"] += 1
            met[entry["entry"]] += 1
        for release in written.releases:
            met[release["decision"]] += 1
            met[f"{release.get('statistic')}, {type(release.get('count')).__name__}"] += 1
    wanted = {"charged: True", "landmarks", "close", "withheld", "approximated", "mean, dict", "sum, dict", "mean, int"}
    assert met.keys() >= wanted | {"sum, int", "share, int", "histogram, int"}


@pytest.fixture(scope="module")
def chains(ledgers: int) -> list[Written]:
    """Return series of units decided by the worker's path."""
    return [chain(seed) for seed in range(100, 100 + max(12, ledgers // 20))]


@pytest.mark.slow
@pytest.mark.parametrize(
    "fraud",
    [fraud for fraud in unit_frauds.FRAUDS if fraud not in (unit_frauds.never_waited, unit_frauds.landmarks_counted)],
    ids=lambda fraud: fraud.__name__,
)
def test_every_fraud_in_a_decided_ledger_of_units_is_found(fraud: Fraud, chains: list[Written], ledgers: int) -> None:
    """The same holds where versions with and without units, renewals, late units and all statistics combine."""
    count, every = 0, 5 if ledgers >= MANY_LEDGERS else 9
    for true in chains:
        for number, forged in enumerate(fraud(true)):
            if number % every == 0:
                report = audit(forged.ledger, forged.releases, true.lifetime_nano)
                assert codes(report) & forged.codes, f"found {report.findings[:9]}, not {forged.codes}"
                count += 1
    assert count >= 2
