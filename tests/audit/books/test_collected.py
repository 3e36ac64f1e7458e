"""Ledgers of collected data: true ones hold, exposure by intrusions is counted, and false ones are found."""

import copy
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings

from stream_app.audit import Report
from stream_app.audit.books.intrusions import IntrusionCounts
from tests.audit.books.test_members import lines, member, series, told
from tests.audit.books.test_policy import ODD, agreed, places
from tests.audit.ways import audit, codes
from tests.audit.written import Written, seal
from tests.collected import PAN_PRIVATE, REPLACE, STEP, collected, contribution, intrusion, schedules, watermark
from tests.run import BALANCED, Run, limited
from tests.suite.speeds import scaled

LIFETIME_NANO = 10**15


def run_of(*records: dict[str, Any]) -> Run:
    """Return the run of these records under a lifetime that allows every version."""
    return Run(limited(lifetime_nano=LIFETIME_NANO)).feed_all(records)


def report_of(run: Run) -> Report:
    """Return the audit of a run, with its releases."""
    return audit(run.ledger, run.releases, LIFETIME_NANO)


@settings(max_examples=scaled(80), suppress_health_check=[HealthCheck.too_slow])
@given(schedules())
def test_true_ledgers_hold(drawn: list[dict[str, Any]]) -> None:
    """This holds for anything collected, in any order."""
    run = run_of(*drawn)
    report = report_of(run)
    assert report.findings == ()
    entries = [orjson.loads(entry) for entry in run.ledger]
    announced = sum(entry["entry"] == "intrusion" for entry in entries)
    assert (report.intruded.announced if report.intruded else 0) == announced


@pytest.mark.parametrize(
    ("protection", "seen", "steps"),
    [
        ({"level": "event"}, [5, 5, 25], 1),
        ({"level": "user", "length": 9}, [5, 5, 25], 4),
        ({"level": "user", "length": 9}, [5, 15], 3),
        ({"level": "landmark", "landmarks": [0, 10, 70]}, [5], 2),
        ({"level": "landmark", "landmarks": [0, 70]}, [5], 2),
        ({"level": "landmark", "landmarks": [70]}, [5, 25], 1),
        ({"level": "landmark", "landmarks": [[0, 40]]}, [5, 25], 4),
        ({"level": "landmark", "landmarks": [[0, 40]]}, [5, 25, 45], 5),
        ({"level": "w-event", "window": 1}, [5, 25, 45], 1),
        ({"level": "w-event", "window": 3}, [5, 35, 65], 2),
        ({"level": "w-event", "window": 4}, [5, 35, 65], 3),
        ({"level": "w-event", "window": 9}, [5, 35, 65], 6),
    ],
)
def test_exposed_steps(protection: dict[str, object], seen: list[int], steps: int) -> None:
    """Of the two steps open at each look, those in L and one other count, each once; the report gives the cost."""
    records = []
    for at in seen:
        records += [watermark(at), intrusion()]
    policy = collected(collect=PAN_PRIVATE, protection={"step": STEP} | protection, epsilon=1.0)
    report = report_of(run_of(policy, *records))
    assert report.holds
    assert report.intruded is not None
    assert report.intruded.steps == steps
    assert report.intruded.largest_nano == report.largest_nano + steps * 10**9
    assert f"{steps} exposed steps" in report.text()
    assert report.document()["intrusions"]["steps"] == steps


def test_intrusions_of_several_versions_add_up() -> None:
    """Each counts at its own price; the next version's count starts at zero."""
    half = PAN_PRIVATE | {"intrusion_nano": 5 * 10**8}
    run = run_of(
        collected(collect=PAN_PRIVATE), watermark(5), intrusion(),
        collected(2, half), watermark(25), intrusion(), watermark(100), intrusion(),
    )  # fmt: skip
    report = report_of(run)
    spent = report.largest_nano
    assert report.intruded == IntrusionCounts(3, 1, spent + 10**9 + 5 * 10**8, "ward-3", 2)


def true_ledger() -> Written:
    """Return a ledger with an intrusion, as records."""
    run = run_of(
        collected(collect=PAN_PRIVATE, scheme=BALANCED), watermark(5), contribution(7, "ada", "walk"), watermark(15),
        intrusion(), watermark(45),
    )  # fmt: skip
    return Written.of(run)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"intrusion_nano": 10**9 - 1}, "intrusion"),
        ({"intrusion_nano": 0}, "malformed-entry"),
        ({"exposed": []}, "malformed-entry"),
        ({"exposed": [[10, 10]]}, "malformed-entry"),
        ({"exposed": [[10, 31]]}, "intrusion"),
        ({"exposed": [[10, 40]]}, "intrusion"),
        ({"exposed": [[0, 20]]}, "intrusion"),
        ({"exposed": [[10, 20], [30, 40]]}, "intrusion"),
        ({"exposed": [[253402300800000, 253402300800010]]}, "intrusion"),
        ({"policy": 2}, "policy-version"),
        ({"entry": "intrusions"}, "unknown-entry"),
    ],
)
def test_false_intrusions(change: dict[str, Any], code: str) -> None:
    """An intrusion that no worker can have written is found."""
    forged = true_ledger()
    assert audit(forged.lines(), forged.release_lines()).holds
    nth = next(nth for nth, entry in enumerate(forged.entries) if entry["entry"] == "intrusion")
    forged.entries[nth] |= change
    seal(forged)
    assert code in codes(audit(forged.lines(), forged.release_lines()))


def test_an_intrusion_of_bare_counters() -> None:
    """A policy without noise in its counters has no intrusions to announce."""
    forged = true_ledger()
    del forged.entries[0]["parameters"]["collect"]["intrusion_nano"]
    seal(forged)
    assert codes(audit(forged.lines(), forged.release_lines())) == {"intrusion"}


def test_a_scale_of_the_wrong_sensitivity() -> None:
    """A policy that calls `replace` neighbours `add-remove` halves the noise, and is found."""
    forged = true_ledger()
    forged.entries[0]["parameters"]["collect"] = {"neighbours": "add-remove", "open_steps": 2}
    seal(forged)
    assert "release-mismatch" in codes(audit(forged.lines(), forged.release_lines()))


def policies() -> list[dict[str, Any]]:
    """Return parameters of policies that collect."""
    counts = {"kind": "counts", "keys": ["walk", "ride"]}
    found = []
    for collect in (PAN_PRIVATE, REPLACE, {"neighbours": "add-remove", "open_steps": 1, "intrusion_nano": None}, None):
        for value in (
            counts,
            counts | {"sensitivity": 2, "invalid": "reject", "clamp": False},
            counts | {"sensitivity": 1},
        ):
            record = collected(collect=collect, value=value, correlation=None)
            found.append({name: record[name] for name in record if name not in {"type", "series", "version"}})
    return copy.deepcopy(found)


def test_policies_are_taken_where_the_worker_takes_them() -> None:
    """They agree if any member of `collect`, or beside it, has any odd value or is omitted."""
    taken = refused = 0
    odd = [*ODD, "replace", "add-remove", 1000, 1001, 10**15, 10**15 + 1]
    for policy in policies():
        agreed(policy)
        for holder, key in list(places(part := {name: policy[name] for name in ("collect", "value")})):
            kept = holder[key]
            for value in odd:
                holder[key] = value
                taken, refused = (taken + 1, refused) if agreed(policy | part) else (taken, refused + 1)
            holder[key] = kept
            if isinstance(holder, dict):
                del holder[key]
                agreed(policy | part)
                holder[key] = kept
        for members in (
            {"kind": "number", "lower": 0, "upper": 1, "resolution": 0.5},
            {"kind": "counts", "keys": ["a"]},
        ):
            agreed(policy | {"value": members})
    assert min(taken, refused) > 100


@pytest.mark.parametrize(("keys", "most"), [(4096, 16), (66, 992), (65, 1000), (1, 1000)])
def test_the_most_open_counters(keys: int, most: int) -> None:
    """A series has at most 65,536, in 1,000 steps, because a record may draw noise for each."""
    policy = policies()[0]
    policy["value"]["keys"] = [str(nth) for nth in range(keys)]
    assert agreed(policy | {"collect": REPLACE | {"open_steps": most}})
    assert not agreed(policy | {"collect": REPLACE | {"open_steps": most + 1}})


def test_what_is_collected_claims_nothing() -> None:
    """Contributions from many people belong to no member's series, even with a cap."""
    collected = series("q", None, "1e-8", lifetime=5e-8)
    parameters = collected.entries[0]["parameters"]
    parameters["value"] = {"kind": "counts", "keys": ["walk"]}
    parameters["collect"] = {"neighbours": "replace", "open_steps": 1}
    parameters["protection"] = {"level": "event", "step": 1000}
    del collected.entries[1:]
    assert audit(lines(member("q/", 5), seal(collected))).findings == ()
    assert audit(lines(seal(collected))).findings == ()


@pytest.mark.parametrize("order", [0, 1])
def test_what_is_collected_beside_claims(order: int) -> None:
    """With caps, nothing is collected under a member's series id or before a version that does not collect."""
    plain, stopped = series("p/b", None), series("r", None)
    for written in (plain, stopped):
        parameters = written.entries[0]["parameters"]
        parameters["value"] = {"kind": "counts", "keys": ["walk"]}
        parameters["collect"] = {"neighbours": "replace", "open_steps": 1}
        parameters["protection"] = {"level": "event", "step": 1000}
        del written.entries[1:]
    later = {name: value for name, value in stopped.entries[0]["parameters"].items() if name != "collect"}
    stopped.entries.append(stopped.entries[0] | {"sequence": 2, "policy": 2, "epoch": 0, "parameters": later})
    chains = [lines(member("p/", 5)), lines(seal(plain), seal(stopped))]
    found = told(audit([line for chain in chains[:: 1 - 2 * order] for line in chain], lifetime_nano=100))
    told_of = ("p/", "p/") if order else ("p/b", "r")
    assert found == [
        ("claim", told_of[0], "'p/b' collects under the id of a person's series"),
        ("claim", told_of[1], "'r' stops collecting but reserves nothing"),
    ]
    assert audit(chains[1], lifetime_nano=100).holds
