"""Ledgers of sums, means, choices, vectors and many-reading steps: true ones hold, false figures are found."""

import copy
from collections.abc import Iterator
from dataclasses import replace
from math import inf, nextafter
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_app.audit import Report
from stream_app.privacy import policy as policies
from stream_app.privacy.kinds import HiddenMean, Mean, Sum, Vector
from tests.audit import gathered
from tests.audit.ways import audit, codes
from tests.audit.written import Written, cover, seal
from tests.collected import REPLACE, collected, contribution, watermark
from tests.readings import reading, schedules, within
from tests.readings import watermark as plain_watermark
from tests.run import BALANCED, NUMBER, VECTOR, Run, limited, observation, policy
from tests.suite.speeds import scaled

LIFETIME_NANO = 10**15
ITEM: dict[str, object] = {"kind": "number", "lower": -2, "upper": 5.5, "resolution": 0.5}
ADD_REMOVE: dict[str, object] = {"neighbours": "add-remove", "open_steps": 2}
SEEN = {"intrusion_nano": 10**12}
SUM, MEAN = {"statistic": "sum"}, {"statistic": "mean"}
WAYS: dict[str, dict[str, Any]] = {
    "sum": {"value": ITEM, "collect": REPLACE | SUM},
    "seen sum": {"value": ITEM, "collect": REPLACE | SUM | SEEN},
    "open sum": {"value": ITEM, "collect": ADD_REMOVE | SUM},
    "mean": {"value": ITEM, "collect": REPLACE | MEAN},
    "seen mean": {"value": ITEM, "collect": REPLACE | MEAN | SEEN},
    "free mean": {"value": ITEM | {"clamp": False}, "collect": REPLACE | MEAN},
    "hidden mean": {"value": ITEM, "collect": ADD_REMOVE | MEAN},
    "balanced mean": {"value": ITEM, "collect": ADD_REMOVE | MEAN, "scheme": BALANCED},
    "choice": {"value": gathered.CHOICE, "collect": REPLACE},
    "vector": {"value": VECTOR},
    "free vector": {"value": VECTOR | {"clamp": False}},
}


def run_of(records: list[dict[str, Any]]) -> Run:
    """Return the run of these records under a lifetime that allows every version."""
    return Run(limited(lifetime_nano=LIFETIME_NANO, accept_weaker_policies=True)).feed_all(records)


def report_of(run: Run) -> Report:
    """Return the audit of a run, with its releases."""
    return audit(run.ledger, run.releases, LIFETIME_NANO)


WEAKER = schedules().map(lambda log: [record | {"weaker": True} for record in log])


@pytest.mark.parametrize("logs", [gathered.schedules(), WEAKER], ids=["statistics", "readings"])
@settings(max_examples=scaled(60), suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_true_ledgers_hold(logs: st.SearchStrategy[list[dict[str, Any]]], data: st.DataObject) -> None:
    """This holds for any items in any order, and for any number of readings per step, including none."""
    assert report_of(run_of(data.draw(logs))).findings == ()


def life(name: str) -> Run:
    """Return a run of contributions that leave a step empty, or of three observations if nothing is collected."""
    members: dict[str, Any] = {"epsilon": 1.5, "protection": {"level": "event", "step": 10}} | WAYS[name]
    if "collect" not in members:
        values = ({"pulse": 70, "oxygen": 0.97}, {"oxygen": 1.2, "pulse": 20}, {"pulse": 300, "oxygen": 0})
        return run_of([policy("a", **members), *(observation("a", nth * 10, each) for nth, each in enumerate(values))])
    items: tuple[object, ...] = ("north", "south", "south") if name == "choice" else (1.3, 9, 4)
    records = [collected(**members), watermark(5)]
    for at in (5, 15, 35):
        records += [contribution(at, who, item) for who, item in zip("abc", items, strict=True)]
        records.append(watermark(at + 10))
    return run_of([*records, watermark(60)])


def false_releases(release: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the release with every single figure changed, a little and a lot, or removed, or one added."""
    for name in ("value", "measurement", "scale"):
        # Another measurement on the grid may have the same estimate, once that is clamped.
        moved = name != "measurement" or release["value"] == release.get(name)
        for other in others(release[name], moved=moved) if name in release else ():
            yield release | {name: other}
    statistic = release.get("statistic")
    for other in {None, "sum", "mean"} - {statistic}:
        yield {each: part for each, part in release.items() if each != "statistic"} | (
            {"statistic": other} if other else {}
        )
    if "count" in release:
        yield from (release | {"count": count} for count in (release["count"] + 2, 17))  # 0 counts as 1
        yield {each: part for each, part in release.items() if each != "count"}
    elif statistic == "mean" and "measurement" in release:
        yield release | {"count": 3}


def others(found: Any, *, moved: bool) -> Iterator[Any]:
    """Yield values other than the released one; `moved` ones are on the grid, too."""
    match found:
        case dict():
            for name, part in found.items():
                yield from (found | {name: other} for other in others(part, moved=moved))
                yield {each: other for each, other in found.items() if each != name}
            yield dict(reversed(found.items()))
            yield found | {"other": 1.0}
            yield next(iter(found.values()))
        case str():
            yield from ({"north", "south", "nowhere"} - {found})
        case int():
            yield from (float(found), *([found + 1] if moved else ()))
        case _:
            yield from (
                nextafter(found, inf),
                {"sum": found},
                "north",
                *((found + 0.5, found * 2 + 30) if moved else ()),
            )


@pytest.mark.parametrize("name", WAYS)
def test_every_changed_figure_is_found(name: str) -> None:
    """Value, measurement, scale, statistic and count follow from the policy, the spend and each other."""
    true = Written.of(life(name))
    assert audit(true.lines(), true.release_lines()).holds
    assert [release["decision"] for release in true.releases].count("perturbed") >= 3
    count = 0
    for nth, release in enumerate(true.releases):
        for changed in false_releases(release):
            forged = true.copy()
            forged.releases[nth] = changed
            seal(cover(forged))
            found = codes(audit(forged.lines(), forged.release_lines()))
            assert found & {"release-mismatch", "malformed-release"}, changed
            count += 1
    assert count >= 20


def test_gaps_cost_nothing_under_their_policy_alone() -> None:
    """A step without a reading is approximated, whatever its share, only if the policy says so."""
    gaps = {"absent": "approximated"}
    true = Written.of(
        run_of([within(protection=gaps), plain_watermark(0), reading(3, 4.5), plain_watermark(35), reading(31, 1)])
    )
    assert [release["decision"] for release in true.releases] == ["perturbed", "approximated", "approximated"]
    assert audit(true.lines(), true.release_lines()).holds
    forged = true.copy()
    del forged.entries[0]["parameters"]["protection"]["absent"]
    seal(forged)
    assert codes(audit(forged.lines(), forged.release_lines())) == {"decision"}


def test_the_first_gaps_are_withheld() -> None:
    """There is nothing to repeat before the first reading."""
    run = run_of([within(protection={"absent": "approximated"}), plain_watermark(0), plain_watermark(25)])
    assert [orjson.loads(line)["decision"] for line in run.releases] == ["withheld", "withheld"]
    assert report_of(run).holds


@pytest.mark.parametrize("level", [{"level": "user", "length": 6}, {"level": "landmark", "landmarks": [[0, 40]]}])
def test_a_mean_of_two_measurements_spends_no_single_nano(level: dict[str, Any]) -> None:
    """A share of one nano-epsilon cannot be halved: it is left, and the audit says so."""
    members: dict[str, Any] = {"epsilon": 8e-9, "protection": level | {"step": 10}}
    true = Written.of(
        run_of([collected(collect=ADD_REMOVE | MEAN, value=ITEM, **members), watermark(0), watermark(60)])
    )
    decisions = {release["decision"] for release in true.releases}
    assert audit(true.lines(), true.release_lines()).holds
    assert decisions & {"approximated", "withheld"}


def _narrowed(kind: Any) -> Any:
    """Use the range for add-remove, though a new contributor moves a sum by the item's distance from 0."""
    if isinstance(kind, Sum | HiddenMean) and not kind.replace:
        return replace(kind, item=replace(kind.item, sensitivity=3))
    return kind


def _bare(kind: Any) -> Any:
    """Draw closing noise for the range only, although an item moved past a look changes two parts."""
    if isinstance(kind, Sum | Mean) and kind.centre:
        return replace(kind, item=replace(kind.item, sensitivity=kind.item.axis.high - kind.item.axis.low))
    return kind


def _whole_parts(kind: Any) -> Any:
    """Spend a step's whole budget on each part of a vector."""
    if isinstance(kind, Vector):
        parts = (replace(part, sensitivity=part.sensitivity // len(kind.parts)) for part in kind.parts)
        return replace(kind, parts=tuple(parts))
    return kind


def _unclamped(kind: Any) -> Any:
    """Publish means and vectors outside their range."""
    if isinstance(kind, Vector):
        return replace(kind, parts=tuple(replace(part, clamped=False) for part in kind.parts))
    return replace(kind, clamped=False) if isinstance(kind, Mean | HiddenMean) else kind


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        (_narrowed, "open sum"),
        (_narrowed, "hidden mean"),
        (_bare, "seen sum"),
        (_bare, "seen mean"),
        (_whole_parts, "vector"),
        (_unclamped, "hidden mean"),
        (_unclamped, "vector"),
    ],
)
def test_a_fault_of_the_worker_is_found(fault: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit computes the policy's guarantee itself, so a wrong scale or estimate is found."""
    assert report_of(life(name)).holds
    for maker in ("kind_of", "collected_kind"):
        true = getattr(policies, maker)
        monkeypatch.setattr(policies, maker, lambda *given, true=true: fault(true(*given)))
    assert "release-mismatch" in codes(report_of(life(name)))


HALVES: tuple[Any, ...] = (
    lambda self, spend: {"sum": self.item.scale(spend), "count": 10**9 / spend},
    lambda self, spend: {"sum": self.item.scale(spend - spend // 2), "count": 10**9 / (spend // 2)},
)


@pytest.mark.parametrize("scale", HALVES)
def test_each_half_of_a_spend_has_its_noise(scale: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is found if both halves use the whole odd spend, or the wrong one uses the larger half."""
    record = collected(collect=ADD_REMOVE | MEAN, value=ITEM, epsilon=1.000000001)
    log = [record, watermark(5), contribution(7, "a", 3), watermark(15)]
    assert report_of(run_of(log)).holds
    monkeypatch.setattr(HiddenMean, "scale", scale)
    assert "release-mismatch" in codes(report_of(run_of(log)))


LADDER: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"value": VECTOR}, {"value": VECTOR | {"parts": {"x": VECTOR["parts"]["pulse"]}}}, ""),  # type: ignore[index]
    ({"value": VECTOR | {"invalid": {"pulse": 60, "oxygen": 1}}}, {"value": VECTOR}, "invalid values are revealed"),
    ({"value": VECTOR}, {"value": NUMBER}, "kind vector becomes kind number"),
    (WAYS["sum"], WAYS["mean"], ""),
    (WAYS["sum"], WAYS["sum"] | {"value": ITEM | {"upper": 1}}, ""),
    (WAYS["sum"], WAYS["open sum"], "collected data are protected differently"),
    (WAYS["seen sum"], WAYS["sum"], "an intrusion reveals more"),
    (WAYS["choice"], {"collect": REPLACE, "value": gathered.CHOICE | {"items": ["north", "west"]}}, "items become"),
    (WAYS["choice"], WAYS["sum"], "kind choice becomes kind number"),
    ({"value": NUMBER}, WAYS["sum"] | {"value": NUMBER}, "collected data are protected differently"),
]


@pytest.mark.parametrize(("before", "after", "lost"), LADDER)
def test_weaker_versions(before: dict[str, Any], after: dict[str, Any], lost: str) -> None:
    """The audit remarks a version that withdraws a neighbour, which the worker refuses, and no other version."""
    log = [policy("a", **before, epsilon=1), policy("a", 2, **after, epsilon=1)]
    refused = Run(limited(lifetime_nano=LIFETIME_NANO)).feed_all(copy.deepcopy(log)).rejects
    assert [orjson.loads(reject)["reason"] for reject in refused] == (["weaker-policy"] if lost else [])
    told = report_of(run_of([log[0], log[1] | {"weaker": True}]))
    assert told.findings == ()
    assert [remark.code for remark in told.remarks] == (["weaker-marked"] if lost else [])
    assert all(lost in remark.message for remark in told.remarks)


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        (2.5, 7, ""),
        (2.5, "approximated", "steps without a reading become visible"),
        (2.5, None, "steps without a reading become visible"),
        ("approximated", None, ""),
        (None, 2.5, ""),
    ],
)
def test_weaker_absence(before: object, after: object, lost: str) -> None:
    """Once it is hidden whether a step had a reading, it stays hidden."""
    forms: list[dict[str, Any]] = [
        {"protection": {} if absent is None else {"absent": absent}, "epsilon": 1} for absent in (before, after)
    ]
    log = [within(version, **form) for version, form in enumerate(forms, 1)]
    refused = Run(limited(lifetime_nano=LIFETIME_NANO)).feed_all(copy.deepcopy(log)).rejects
    assert [orjson.loads(reject)["reason"] for reject in refused] == (["weaker-policy"] if lost else [])
    told = report_of(run_of([log[0], log[1] | {"weaker": True}]))
    assert [remark.message for remark in told.remarks] == ([lost] if lost else [])
