"""The verdict on a site: its topics compared with the promises, using only topics and ``replay``."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import orjson

from tests.faults.fleet import Site
from tests.faults.gathered import READ
from tests.faults.measured import SENT, unit_budget_holds
from tests.faults.topics import Topics, input_of
from tests.run import ACCEPTING

Inputs = Mapping[tuple[int, int], bytes | None]


@dataclass
class Verdict:
    """What was counted, and which promises were broken."""

    inputs: int = 0
    decided: int = 0
    rejected: int = 0
    lost: int = 0
    """Inputs that were skipped without an answer, and release entries without their release."""
    waiting: int = 0
    """Inputs after the last answer of their partition."""
    doubled: int = 0
    differing: int = 0
    """Places with two different records, and series that differ from the replay's."""
    aborted: int = 0
    """Records in the outputs' logs that only an uncommitted reader sees."""
    repeated: int = 0
    """Chain places that the uncommitted log holds more than once, because the tail rule applied there."""
    series: int = 0
    entries: int = 0
    heads: int = 0
    members: int = 0
    """Of which something was claimed."""
    renewals: int = 0
    """Versions that an event started, without a record of their own."""
    statistics: int = 0  # releases over many units
    late_landmarks: int = 0  # registrations that cost something: their units were released
    unsigned: int = 0
    """Entries that no head covers when all workers have stopped."""
    replayed: bool = False
    audit: str = ""
    """The result of the product's audit: HOLDS, or the codes of its findings."""
    reasons: dict[str, int] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    """The promises that were broken, one sentence each."""


async def judge(site: Site, *, replay: bool = True) -> Verdict:
    """Check everything; raise an `AssertionError` that names the broken promises."""
    verdict = await weigh(site, replay=replay)
    assert not verdict.broken, verdict.broken
    return verdict


async def weigh(site: Site, *, replay: bool = True) -> Verdict:
    """Check everything and count; `broken` of the verdict names the broken promises."""
    topics = Topics(site)
    names = ("releases", "ledger", "rejects")
    committed = {name: await topics.read(name) for name in names}
    uncommitted = {name: await topics.read(name, "read_uncommitted") for name in names}
    # Input may be large: without a replay only the bytes of what may have no answer are kept.
    inputs = {
        (record.partition, record.offset): record.value if replay or _collected(record.value) else None
        async for record in topics.walk("events")
    }
    verdict = Verdict(inputs=len(inputs), entries=len(committed["ledger"]), rejected=len(committed["rejects"]))
    checks: list[Callable[[], None]] = [
        lambda: _answers(verdict, inputs, committed),
        lambda: _uncommitted(verdict, committed, uncommitted),
        lambda: _theorem(verdict, committed),
        lambda: _audit(verdict, site),
    ]
    if replay:
        checks.append(lambda: _replay(verdict, site, inputs, committed))
    for check in checks:
        try:
            check()
        except AssertionError as failure:
            verdict.broken.append(str(failure))
    return verdict


def _answers(verdict: Verdict, inputs: Inputs, committed: Mapping[str, list[Any]]) -> None:
    """Check that each input has one reject, or its ledger entries, and that nothing is answered twice.

    Contributions, readings of meters and watermarks may have no answer, and a record that closes steps may have many:
    the replay shows whether they are right.
    """
    places = set(inputs)
    silent = {place for place, value in inputs.items() if _collected(value)}
    rejects = Counter(map(input_of, committed["rejects"]))
    decided = {input_of(record) for record in committed["ledger"]}
    verdict.decided = len(decided)
    versions = {input_of(record) for record in committed["ledger"] if _later_version(record.value)}
    verdict.renewals = len(versions & {input_of(record) for record in committed["releases"]})
    reached: dict[int, int] = defaultdict(lambda: -1)
    for partition, offset in decided | set(rejects):
        reached[partition] = max(reached[partition], offset)
    unanswered = places - decided - set(rejects) - silent
    verdict.waiting = sum(offset > reached[partition] for partition, offset in unanswered)
    verdict.lost = len(unanswered) - verdict.waiting
    releases = Counter(_place(record, "timestamp") for record in committed["releases"])
    entries = Counter(_place(record, "sequence") for record in committed["ledger"])
    answers = Counter(place for place in map(input_of, committed["releases"]) if place not in silent)
    verdict.doubled = len(decided & set(rejects)) + sum(
        count > 1 for counted in (rejects, releases, entries, answers) for count in counted.values()
    )
    verdict.reasons = dict(Counter(orjson.loads(record.value)["reason"] for record in committed["rejects"]))
    released = {_place(record, "timestamp") for record in committed["releases"]}
    promised = {_place(record, "timestamp") for record in committed["ledger"] if b'"entry":"release"' in record.value}
    verdict.lost += len(promised - released)
    unfinished = f"{verdict.lost} inputs without an answer, or entries without their release; {verdict.waiting} waiting"
    assert verdict.lost == verdict.waiting == 0, unfinished
    assert verdict.doubled == 0, f"{verdict.doubled} answers twice"
    assert decided | set(rejects) | silent == places, "answers to what was never asked"


def _later_version(entry: bytes) -> bool:
    return b'"entry":"policy"' in entry and orjson.loads(entry)["policy"] > 1


def _collected(value: bytes | None) -> bool:
    if value is None:
        return False
    try:
        record = orjson.loads(value)
    except orjson.JSONDecodeError:
        return False
    if not isinstance(record, dict):
        return False
    return record.get("type") in ("contribution", "watermark") or str(record.get("series")).startswith(READ)


def _uncommitted(verdict: Verdict, committed: Mapping[str, list[Any]], uncommitted: Mapping[str, list[Any]]) -> None:
    """Check that uncommitted readers see no two differing records for a place, and the same records in the end."""
    places = {
        "releases": lambda record: _place(record, "timestamp"),
        "ledger": lambda record: _place(record, "sequence"),
        "rejects": input_of,
    }
    for name, place_of in places.items():
        seen: dict[Any, set[bytes]] = defaultdict(set)
        times: Counter[Any] = Counter()
        for record in uncommitted[name]:
            seen[place_of(record)].add(record.value)
            times[place_of(record)] += 1
        verdict.aborted += len(uncommitted[name]) - len(committed[name])
        verdict.differing += sum(len(values) > 1 for values in seen.values())
        if name == "ledger":
            verdict.repeated = sum(count > 1 for count in times.values())
        assert set(seen) == {place_of(record) for record in committed[name]}, f"{name}: aborted, and never decided"
    assert verdict.differing == 0, f"{verdict.differing} places with two different records"


def _theorem(verdict: Verdict, committed: Mapping[str, list[Any]]) -> None:
    """Check that in each period the final landmarks plus any other step fit epsilon, by the actual releases.

    A prefix spends no more than the whole, so the end proves it for every earlier moment.
    """
    # An entry without its release is counted as lost; it published nothing.
    spent: defaultdict[tuple[str, int], int] = defaultdict(int)
    for record in committed["releases"]:
        spent[_place(record, "timestamp")] = orjson.loads(record.value).get("epsilon_nano", 0)
    chains: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in committed["ledger"]:
        entry = orjson.loads(record.value)
        chains[entry["series"]].append(entry)
    verdict.members = _members(chains)
    verdict.series = len(chains)
    sent = [entry for series, chain in chains.items() if series.startswith(SENT) for entry in chain]
    verdict.statistics = sum(entry["entry"] == "release" for entry in sent)
    verdict.late_landmarks = sum(entry["entry"] == "landmarks" and entry["charged_nano"] > 0 for entry in sent)
    for series, chain in chains.items():
        assert [entry["sequence"] for entry in chain] == list(range(1, len(chain) + 1)), series
        assert all(entry["previous"] == before["hash"] for before, entry in pairwise(chain))
        if chain[0]["entry"] == "member":
            continue
        for period in _periods(chain):
            assert _holds(period, series, spent), f"{series}, policy {period[0]['policy']}: over its budget"


def _members(chains: Mapping[str, list[dict[str, Any]]]) -> int:
    """Check that caps fall and that the claims of a member's series fit the last cap; return how many claim."""
    claims: dict[str, int] = defaultdict(int)
    for series, chain in chains.items():
        claims[series.partition("/")[0]] += chain[0].get("lifetime_nano", 0)
    for series, chain in chains.items():
        if chain[0]["entry"] == "member":
            caps = [entry["cap_nano"] for entry in chain]
            assert caps == sorted(set(caps), reverse=True), f"{series} raises its cap"
            assert claims[series.removesuffix("/")] <= caps[-1], f"{series} claims more than its cap"
    return sum(nano > 0 for nano in claims.values())


def _periods(chain: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    periods: list[list[dict[str, Any]]] = []
    for entry in chain:
        if entry["entry"] == "policy":
            periods.append([])
        periods[-1].append(entry)
    return periods


def _holds(period: list[dict[str, Any]], series: str, spent: Mapping[tuple[str, int], int]) -> bool:
    protection = period[0]["parameters"]["protection"]
    step_ms = protection.get("step", 1)
    if "unit" in protection:
        return unit_budget_holds(period, lambda start: spent[series, start])
    if protection["level"] == "w-event":
        return _windows_hold(period, series, spent, protection["window"] * step_ms)
    spans: list[Any] = list(protection.get("landmarks", ()))
    for entry in period:
        spans += entry["add"] if entry["entry"] == "landmarks" else []
    bounds = [(span, span + 1) if isinstance(span, int) else (span[0], span[1]) for span in spans]
    on_landmarks = sum(entry["charged_nano"] for entry in period if entry["entry"] == "dummies")
    elsewhere: dict[int, int] = {}
    for entry in period:
        if entry["entry"] != "release":
            continue
        start = entry["timestamp"]
        spend = spent[series, start]
        if protection["level"] == "user" or any(first < start + step_ms and start < end for first, end in bounds):
            on_landmarks += spend
        else:
            elsewhere[start] = spend
    reach_ms = (protection.get("window") or 1) * step_ms
    sums = [sum(elsewhere[at] for at in elsewhere if last - reach_ms < at <= last) for last in elsewhere]
    return bool(on_landmarks + max(sums, default=0) <= period[0]["budget_nano"])


def _windows_hold(
    period: list[dict[str, Any]], series: str, spent: Mapping[tuple[str, int], int], window_ms: int
) -> bool:
    """Return whether no window of a period without private dissimilarities spends more than epsilon."""
    starts = [entry["timestamp"] for entry in period if entry["entry"] == "release"]
    windows = ([start for start in starts if last - window_ms < start <= last] for last in starts)
    sums = (sum(spent[series, start] for start in window) for window in windows)
    return max(sums, default=0) <= int(period[0]["budget_nano"])


def _audit(verdict: Verdict, site: Site) -> None:
    """Check that the product's audit finds nothing in ledger, releases and, if signed, heads."""
    heads = ["--heads", "--public-key", str(site.public_key)] if site.signed else []
    report = orjson.loads(site.command("audit", "--config", str(site.config()), "--json", *heads, code=None).stdout)
    codes = sorted(Counter(finding["code"] for finding in report["findings"]).items())
    verdict.audit = "HOLDS" if report["holds"] else ", ".join(f"{code} ({count})" for code, count in codes)
    assert report["holds"], report["findings"][:5]
    if site.signed:
        verdict.heads, verdict.unsigned = report["heads"]["heads"], report["heads"]["unsigned"]


def _replay(verdict: Verdict, site: Site, inputs: Inputs, committed: Mapping[str, list[Any]]) -> None:
    """Check that `replay` with the same key gives the same bytes, and rejects for the same records and reasons."""
    file, out = site.folder / "inputs.jsonl", site.folder / "replay"
    file.write_bytes(b"".join((value or b"null") + b"\n" for value in inputs.values()))
    where = ("--out", str(out), "--key", str(site.key), "--config", str(site.config()))
    site.command("replay", *ACCEPTING, str(file), *where, "--json", "--replace")
    for name in ("releases", "ledger"):
        lines = (out / f"{name}.jsonl").read_bytes().splitlines()
        replayed, found = _by_series(lines), _by_series(record.value for record in committed[name])
        wrong = [series for series in replayed.keys() | found.keys() if replayed.get(series) != found.get(series)]
        verdict.differing += sum(
            found.get(series, []) != replayed.get(series, [])[: len(found.get(series, []))] for series in wrong
        )
        assert not wrong, f"{name} of {len(wrong)} series differ from the replay's, {wrong[0]} among them"
    verdict.replayed = True
    replayed_rejects = _reasons((out / "rejects.jsonl").read_bytes().splitlines())
    assert _reasons(record.value for record in committed["rejects"]) == replayed_rejects


def _place(record: Any, member: str) -> tuple[str, int]:
    document = orjson.loads(record.value)
    return document["series"], document[member]


def _by_series(lines: Iterable[bytes]) -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = defaultdict(list)
    for line in lines:
        found[orjson.loads(line)["series"]].append(line)
    return found


def _reasons(lines: Iterable[bytes]) -> dict[str, list[str]]:
    """Return timestamp and reason of each series' rejects, in order."""
    found: dict[str, list[str]] = defaultdict(list)
    for line in lines:
        reject = orjson.loads(line)
        found[str(reject["series"])].append(json.dumps([reject["timestamp"], reject["reason"]]))
    return found
