"""Rows rebuilt only from ledger and releases equal those of the run, for every possible policy."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from stream_app.deciding import rows
from stream_app.deciding.context import Context, Limits
from stream_app.deciding.outcome import ProcessedRecord
from stream_app.deciding.rebuild import GIVEN_UP, RebuildError, RebuiltRows, rebuild, restored
from stream_app.formats import encoding
from stream_app.privacy.guard import Guard
from stream_app.privacy.kinds import Category, Kind
from stream_app.privacy.values import ReleasedCells
from tests.audit.ways import audit
from tests.deciding.test_rows import records
from tests.privacy.guarantee.traces import TRACES, Move, Trace, Version, play
from tests.run import (
    COUNTS,
    FILTERS,
    KEYS,
    LOCATION,
    NUMBER,
    SAMPLES,
    SCHEMES,
    Record,
    Run,
    default,
    observation,
    policy,
)
from tests.suite.speeds import scaled

CONTEXT = Context(KEYS, limits=Limits(lifetime_nano=10**10))


@pytest.mark.parametrize("scheme", list(SCHEMES))
@pytest.mark.parametrize(("kind", "filtered"), FILTERS)
def test_every_kind_scheme_and_filter(kind: str, scheme: str, filtered: str) -> None:
    """After every record of a log the rebuilt rows equal the run's, to the last bit of the filter."""
    run = Run(CONTEXT)
    for record in records(kind, scheme, filtered):
        if isinstance(run.feed(record), ProcessedRecord):
            rebuilt = rebuild(CONTEXT, run.ledger, run.releases)
            assert rebuilt == run.rows
            row, again = run.rows["größe"], rebuilt["größe"]
            assert rows.dump(again, None, set()) == rows.dump(row, None, set()), "to the byte, parameters included"


@settings(max_examples=scaled(40), suppress_health_check=list(HealthCheck))
@given(TRACES)
def test_long_logs(trace: tuple[Version, list[Move], float | None, bool]) -> None:
    """Rebuilt rows of long random logs are equal."""
    run = play(trace).run
    assert rebuild(run.context, run.ledger, run.releases) == run.rows


@pytest.mark.parametrize(
    "value",
    [
        {"kind": "number", "lower": 0, "upper": 1e15, "resolution": 1},
        {"kind": "number", "lower": -1e-90, "upper": 1e-90, "resolution": 1e-99},
        {**LOCATION, "radius": 2e7, "resolution": 0.1},
        {**COUNTS, "sensitivity": 2**53 - 1},
        {**NUMBER, "clamp": False},
    ],
)
@pytest.mark.parametrize("filtered", ["none", "level"])
def test_the_widest_noise(value: dict[str, object], filtered: str) -> None:
    """Measurements at the limits of the published range lead to the same rows."""
    raw: dict[object, object] = {"number": 0, "location": {"latitude": -11, "longitude": -37.1}, "counts": {"walk": 1}}
    run = Run().feed_all([policy("a", epsilon=1e-9, value=value, filter=filtered, scheme=SCHEMES["adaptive"])])
    run.feed_all(observation("a", step, raw[value["kind"]]) for step in range(1, 40))
    assert rebuild(run.context, run.ledger, run.releases) == run.rows


@pytest.mark.parametrize(
    "members", [{}, {"protection": {"level": "event"}}, {"protection": {"level": "user", "length": 3}}]
)
def test_default_policies(members: dict[str, object]) -> None:
    """Rows under default policies name them again, or have their own policy if landmarks were registered."""
    context = Context(KEYS, (default("a*", **members), default("*", value=COUNTS)))
    run = Run(context).feed_all([observation("a1", 1, 1), observation("a2", 1, 1), observation("b", 1, {"walk": 1})])
    run.feed({"type": "landmarks", "series": "a2", "add": [100]})
    assert rebuild(context, run.ledger, run.releases) == run.rows


def test_a_rebuilt_run_goes_on_as_if_nothing_had_happened() -> None:
    """Rows rebuilt in the middle of a log decide the rest to the same bytes."""
    for kind, sample in SAMPLES.items():
        log = records(kind, "adaptive", sample.filters[-1])
        whole = Run(CONTEXT).feed_all(log)
        for cut in range(1, len(log), 5):
            first = Run(CONTEXT).feed_all(log[:cut])
            again = Run(CONTEXT)
            again.offset = first.offset
            again.rows = rebuild(CONTEXT, first.ledger, first.releases)
            again.feed_all(log[cut:])
            joined = tuple(a + b for a, b in zip(first.outputs, again.outputs, strict=True))
            assert joined == whole.outputs


def other(kind: Kind, published: Any) -> object:
    """Return what a version with another filter might have published instead of an estimate: a nearby cell."""
    if isinstance(kind, Category):
        return next(category for category in kind.categories if category != published)
    cells = kind.read(published)
    moved = [kind.clamp(ReleasedCells(tuple(cell + by for cell in cells))) for by in (1, -1)]
    return kind.publish(moved[0] if moved[0] != cells else moved[1])


def filtered_otherwise(run: Run) -> tuple[list[bytes], list[bytes], list[Any]]:
    """Return a run's ledger and releases as if its filter gave other estimates, and those estimates by step."""
    ledger, releases, estimates = [], [], []
    kind = next(iter(run.rows.values())).policy.kind
    previous, shown = encoding.NO_HASH, None
    published = iter(run.releases)
    for line in run.ledger:
        entry = json.loads(line)
        if entry["entry"] == "release":
            release = json.loads(next(published))
            if release["decision"] == "perturbed":
                shown = other(kind, release["value"])
            if release["decision"] != "withheld":
                release["value"] = shown
            releases.append(compact(release))
            estimates.append(shown)
            entry["release"] = encoding.digest(releases[-1])
        del entry["hash"]
        entry["previous"] = previous
        previous = encoding.digest(compact(entry)[:-1])
        ledger.append(compact(entry | {"hash": previous}))
    return ledger, releases, estimates


def compact(document: object) -> bytes:
    """Return JSON in the form of records."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()


@pytest.mark.parametrize("kind", [kind for kind, filtered in FILTERS if filtered == "level"])
def test_what_was_published_stays_whatever_the_filter_says_today(kind: str) -> None:
    """After releases of a version with another filter, an approximated step repeats what was published."""
    log = [policy("a", scheme=SCHEMES["adaptive"], filter="level", value=SAMPLES[kind].declared, epsilon=0.5)]
    log += [observation("a", step, SAMPLES[kind].values[0]) for step in range(1, 60)]
    repeated = 0
    for cut in range(2, len(log)):
        run = Run(CONTEXT).feed_all(log[:cut])
        ledger, releases, estimates = filtered_otherwise(run)
        assert audit(ledger, releases).findings == (), "the audit computes no estimate: old ledgers hold for ever"
        again = Run(CONTEXT)
        again.offset, again.rows = run.offset, rebuild(CONTEXT, ledger, releases)
        again.feed(log[cut])
        run.feed(log[cut])
        found, at_once = json.loads(again.releases[0]), json.loads(run.releases[-1])
        assert found["decision"] == at_once["decision"]
        assert found.get("measurement") == at_once.get("measurement")
        assert json.loads(again.ledger[0])["previous"] == json.loads(ledger[-1])["hash"]
        if found["decision"] == "approximated":
            repeated += 1
            assert found["value"] == estimates[-1] != at_once["value"]
    assert repeated > 5


def test_entries_already_covered_change_nothing() -> None:
    """A tail that begins before the row's last entry is read from that entry on."""
    run = Run(CONTEXT).feed_all(records("number", "adaptive", "none"))
    releases = {encoding.digest(release): release for release in run.releases}
    row = rebuild(CONTEXT, run.ledger[:9], run.releases)["größe"]
    for entry in run.ledger:
        row = restored(CONTEXT, row, entry, releases)
    assert row == run.rows["größe"]


Change = Callable[[list[bytes], list[bytes]], tuple[list[bytes], list[bytes]]]


def _edited(entry: bytes, /, **members: object) -> bytes:
    return json.dumps(json.loads(entry) | members).encode()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda ledger, releases: (ledger[:3] + ledger[4:], releases), "does not follow"),
        (lambda ledger, releases: (ledger[1:], releases), "does not follow"),
        (lambda ledger, releases: (ledger, releases[1:]), "releases must not expire"),
        (lambda ledger, releases: ([_edited(ledger[0], epoch=0), *ledger[2:]], releases), "does not follow"),
        (
            lambda ledger, releases: ([ledger[0], _edited(ledger[1], epsilon_nano=10**11), *ledger[2:]], releases),
            "more than the guard allows",
        ),
        (lambda ledger, releases: ([ledger[0], _edited(ledger[1], entry="odd"), *ledger[2:]], releases), "'odd'"),
        (lambda ledger, releases: ([_edited(ledger[0], parameters={}), *ledger[1:]], releases), "version refuses"),
        (lambda ledger, releases: ([_edited(ledger[0], entry="close"), *ledger[1:]], releases), "before any policy"),
    ],
)
def test_what_does_not_follow_is_refused(change: Change, problem: str) -> None:
    """A missing, modified or unknown entry stops the rebuild and is named."""
    run = Run(CONTEXT).feed_all(records("number", "uniform", "none"))
    with pytest.raises(RebuildError, match=problem) as raised:
        rebuild(CONTEXT, *change(run.ledger, run.releases))
    assert raised.value.series == "größe"
    assert raised.value.sequence > 0


def test_many_series_in_one_ledger() -> None:
    """Entries of several series may be interleaved."""
    log: list[Record] = [policy(kind, value=sample.declared) for kind, sample in SAMPLES.items()]
    log += [observation(kind, step, sample.values[0]) for step in range(1, 9) for kind, sample in SAMPLES.items()]
    run = Run().feed_all(log)
    assert len(run.rows) == len(SAMPLES)
    assert rebuild(run.context, run.ledger, run.releases) == run.rows


@settings(max_examples=scaled(40), suppress_health_check=list(HealthCheck))
@given(TRACES, st.integers(1, 5))
def test_a_series_goes_on_without_releases_that_are_given_up(
    trace: tuple[Version, list[Move], float | None, bool], lost: int
) -> None:
    """Their epsilon stays spent in every sum, later windows wait for it, and the audit finds only them missing."""
    first, moves, lifetime, _ = trace
    played = Trace(lifetime, Guard)
    played.play(first)
    half = len(moves) // 2
    for move in moves[:half]:
        played.play(move)
    run = played.run
    gone, run.releases = run.releases[-lost:], run.releases[:-lost]
    told = RebuiltRows(run.context, {}, {})
    known = {encoding.digest(release): release for release in run.releases}
    for entry in run.ledger:
        told.take(entry, known | {encoding.digest(release): GIVEN_UP for release in gone})
    assume(all(row.state.latest.estimate or not row.state.released for row in told.rows.values()))
    run.rows = told.rows
    for move in moves[half:]:
        played.play(move)
    report = audit(run.ledger, run.releases, played.lifetime_nano)
    assert dict(report.counts) == ({"entry-without-release": len(gone)} if gone else {})
