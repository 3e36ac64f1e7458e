"""Views beside their bases: what the fold writes holds, and every fraud against what they share is found."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import event, given, settings

from stream_app.deciding.context import Limits
from stream_app.formats import encoding
from tests.audit.ways import audit, codes
from tests.deciding.views.logs import (
    BASE,
    DAY,
    LIMITS,
    MEAN,
    UNIT,
    WEEK,
    base,
    context,
    logs,
    run_of,
    version,
    view,
)
from tests.run import Run
from tests.suite.speeds import scaled
from tests.units import landmarks, reading

Entries = list[dict[str, Any]]


@settings(max_examples=scaled(100))
@given(log=logs())
def test_what_the_fold_writes_of_views_holds(log: list[dict[str, Any]]) -> None:
    """The logs include late landmarks, versions and ends of bases, and records that some of them refuse."""
    run = run_of(*log)
    report = audit(run.ledger, run.releases, 2 * 10**14)
    assert not report.findings
    assert report.holds or not run.ledger
    event(f"views: {any(row.view for row in run.rows.values())}")


def lived() -> Run:
    """Return a run with landmarks registered late, in time, and by a version of the base."""
    run = run_of(*(reading(at, 5, BASE) for at in range(0, 60, UNIT)), landmarks(4, 100, series=BASE))
    later = version(2, 80)
    later["protection"] |= {"landmarks": [100, 120, [130, 140]], "spare": 3}
    run.feed({"type": "policy", "series": BASE, **later})
    return run.feed_all(reading(at, 5, BASE) for at in range(60, 200, UNIT))


def sealed_again(entries: Entries) -> list[bytes]:
    """Return the entries as lines with valid chains."""
    places: dict[str, tuple[int, str]] = {}
    lines = []
    for entry in entries:
        sequence, previous = places.get(entry["series"], (0, encoding.NO_HASH))
        found = {**entry, "sequence": sequence + 1, "previous": previous}
        found.pop("hash")
        text = orjson.dumps(found)[:-1]
        link = encoding.digest(text)
        lines.append(text + f',"hash":"{link}"}}'.encode())
        places[entry["series"]] = (sequence + 1, link)
    return lines


def without(entries: Entries, series: str, kind: str) -> Entries:
    """Return the entries without those of one kind in one series."""
    return [entry for entry in entries if (entry["series"], entry["entry"]) != (series, kind)]


def landmark_kept_from_a_view(entries: Entries) -> Entries:
    """A registration reached the base, but not its view."""
    return without(entries, DAY, "landmarks")


def landmark_kept_from_the_base(entries: Entries) -> Entries:
    """A view has landmarks that its base lacks."""
    return without(entries, BASE, "landmarks")


def landmark_to_come_kept_from_a_view(entries: Entries) -> Entries:
    """Nothing has been spent on it yet."""
    return [*entries, *_registered(entries, BASE, [[400, 402]])]


def landmark_dropped_by_a_view(entries: Entries) -> Entries:
    """A view's later version omits a landmark to come, and is not marked as weaker."""
    at = next(n for n, one in enumerate(entries) if one["series"] == DAY and one.get("timestamp", 0) >= 64)
    first = next(one for one in entries if one["series"] == DAY and one["entry"] == "policy")
    protection = {**first["parameters"]["protection"], "landmarks": []}
    later = {name: part for name, part in first.items() if name not in {"lifetime_nano", "view"}}
    later |= {"policy": 2, "parameters": {**first["parameters"], "protection": protection}}
    after = [{**one, "policy": 2} if one["series"] == DAY else one for one in entries[at:]]
    return [*entries[:at], later, *(one for one in after if (one["series"], one["entry"]) != (DAY, "landmarks"))]


def view_without_base(entries: Entries) -> Entries:
    """The series that it is a view of is missing."""
    return [entry for entry in entries if entry["series"] != BASE]


def view_without_cap(entries: Entries) -> Entries:
    """Nothing limits what its person loses in total."""
    return [entry for entry in entries if entry["entry"] != "member"]


def said_again(entries: Entries) -> Entries:
    """A later version says that a view begins."""
    return [{**one, "view": True} if _is_later(one) else one for one in map(_ordered, entries)]


def other_window(entries: Entries) -> Entries:
    """A view protects windows of its own."""
    return [_windowed(entry) if entry["series"] == WEEK and entry["entry"] == "policy" else entry for entry in entries]


def view_of_a_view(entries: Entries) -> Entries:
    """Its base is a view."""
    return [_begun(entry) if entry["series"] == BASE and entry["sequence"] == 1 else entry for entry in entries]


def _registered(entries: Entries, series: str, add: list[list[int]]) -> Entries:
    """Return an entry that registers landmarks to come of a plain series; only its landmarks left do not fit."""
    last = next(entry for entry in reversed(entries) if entry["series"] == series)
    head = {"series": series, "sequence": 0, "entry": "landmarks", "policy": last["policy"], "add": add}
    figures = {name: last[name] for name in ("budget_nano", "landmark_spent_nano", "landmarks_left")}
    figures = {"charged_nano": 0, **figures, "regular_peak_nano": last["regular_peak_nano"]}
    return [{**head, **figures, **{name: last[name] for name in ("key", "epoch", "previous", "hash")}}]


def _is_later(entry: dict[str, Any]) -> bool:
    return bool(entry["entry"] == "policy" and entry["sequence"] > 1)


def _ordered(entry: dict[str, Any]) -> dict[str, Any]:
    return _begun(entry) if _is_later(entry) else entry


def _begun(entry: dict[str, Any]) -> dict[str, Any]:
    """Return a policy entry that says that a view begins, with members in order."""
    head = {name: entry[name] for name in list(entry)[: list(entry).index("parameters")]}
    return {**head, "lifetime_nano": entry.get("lifetime_nano", 10**9), "view": True, **entry}


def _windowed(entry: dict[str, Any]) -> dict[str, Any]:
    parameters = entry["parameters"]
    return {**entry, "parameters": {**parameters, "protection": {**parameters["protection"], "window": 2}}}


FRAUDS: dict[Callable[[Entries], Entries], set[str]] = {
    landmark_kept_from_a_view: {"view-landmarks"},
    landmark_to_come_kept_from_a_view: {"view"},
    landmark_dropped_by_a_view: {"view-landmarks"},
    landmark_kept_from_the_base: {"view"},
    view_without_base: {"view"},
    view_without_cap: {"view"},
    said_again: {"view"},
    other_window: {"view-protection"},
    view_of_a_view: {"view"},
}


def test_a_long_life_holds() -> None:
    """It holds as it was written, and with its chains rebuilt."""
    run = lived()
    entries: Entries = [orjson.loads(entry) for entry in run.ledger]
    assert audit(run.ledger, run.releases, 2 * 10**14).holds
    assert sealed_again(entries) == run.ledger
    assert [entry["policy"] for entry in entries if "parameters" in entry and entry["series"] == BASE] == [1, 2]
    kinds = {(entry["series"], entry["entry"]) for entry in entries}
    assert {(series, "landmarks") for series in (BASE, DAY, WEEK)} <= kinds


@pytest.mark.parametrize("fraud", FRAUDS, ids=lambda fraud: fraud.__name__)
def test_every_fraud_is_found(fraud: Callable[[Entries], Entries]) -> None:
    """It is found by its own code, whatever other figures differ."""
    entries = [orjson.loads(entry) for entry in lived().ledger]
    report = audit(sealed_again(fraud(entries)), None, 2 * 10**14)
    assert codes(report) & FRAUDS[fraud], report.findings


def test_the_order_of_chains_does_not_matter() -> None:
    """A file may contain them one after another, with views first."""
    lines = lived().ledger
    series = [orjson.loads(entry)["series"] for entry in lines]
    shown = [line for name in (WEEK, DAY, BASE, "p-17/") for line, of in zip(lines, series, strict=True) if of == name]
    assert audit(shown, None, 2 * 10**14).holds


def test_a_view_that_began_later_holds() -> None:
    """It has the landmarks of its base's version, and none from before."""
    run = run_of(*(reading(at, 5, BASE) for at in range(0, 20, UNIT)), landmarks(4, series=BASE), of=context(base()))
    run.feed({"type": "policy", "series": BASE, **version(2, 80)})
    run.context = context()
    run.feed_all(reading(at, 5, BASE) for at in range(10, 200, UNIT))
    assert DAY in run.rows
    report = audit(run.ledger, run.releases, 2 * 10**14)
    assert report.holds, report.findings


@pytest.mark.parametrize("offset", [0, 4, 7])
def test_grids_that_begin_elsewhere_hold(offset: int) -> None:
    """Steps of views may start at another time of day; they still have the landmarks of the base."""
    at = {"offset": offset % UNIT} if offset % UNIT else {}
    plain = base(protection={"step": 8, "unit": UNIT, "open_steps": 1, **at}, value=MEAN)
    of = context(plain, view("day", 8, protection={"offset": offset}))
    run = run_of(*(reading(at, 5, BASE) for at in range(0, 30, UNIT)), landmarks(4, 44, 90, series=BASE), of=of)
    run.feed_all(reading(at, 5, BASE) for at in range(30, 100, UNIT))
    report = audit(run.ledger, run.releases, 2 * 10**14)
    assert report.holds, report.findings
    entries = [orjson.loads(entry) for entry in run.ledger]
    forged = audit(sealed_again(without(entries, DAY, "landmarks")), None, 2 * 10**14)
    assert "view-landmarks" in codes(forged)


def test_a_view_of_a_person_without_a_cap_does_not_begin() -> None:
    """A cap configured after the person's first series limits nothing, and the audit requires one."""
    uncapped = Limits(member_separator="/", lifetime_nano=LIMITS.lifetime_nano)
    run = run_of(reading(0, 5, BASE), of=context(base(), limits=uncapped))
    run.context = context()
    run.feed_all(reading(at, 5, BASE) for at in range(6, 60, UNIT))
    assert audit(run.ledger, run.releases, 2 * 10**14).holds
    run.feed({"type": "member", "member": "p-17", "epsilon": 1e6})
    run.feed_all(reading(at, 5, BASE) for at in range(60, 90, UNIT))
    assert {DAY, WEEK} <= set(run.rows)
    assert audit(run.ledger, run.releases, 2 * 10**14).holds
