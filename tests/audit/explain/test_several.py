"""Steps of many items, readings or numbers: why each was so decided, and what no record shows about it."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings

from stream_app.audit.explain.text import text_of
from stream_app.audit.standing.inquiry import StandingInquiry
from stream_app.cli import main
from tests import readings
from tests.audit import gathered
from tests.audit.books.test_statistics import ADD_REMOVE, ITEM, MEAN, SUM, run_of
from tests.audit.explain.test_explanation import explained
from tests.collected import REPLACE, STEP, collected, contribution, watermark
from tests.command import Cli
from tests.run import VECTOR, Run, observation, policy

ADAPTIVE = {"name": "adaptive"}


def decisions(run: Run) -> list[dict[str, Any]]:
    """Return the entries that decide a step."""
    return [entry for entry in map(orjson.loads, run.ledger) if entry["entry"] == "release"]


def follow(run: Run) -> None:
    """Check every step's explanation: the share was spent, or there is a reason why it was not."""
    for entry in decisions(run):
        found = explained(run.ledger, entry["timestamp"], run.releases, entry["series"])
        assert found.findings == ()
        terms = found.terms
        spent = entry.get("epsilon_nano")
        least = found.share_nano < terms.least_nano
        assert found.share_nano == spent if spent else found.is_tossed or least or terms.gaps
        assert "left unused" not in found.reason
        assert (found.rate_nano is not None) is (found.is_tossed and not terms.compares)
        assert found.unknown
        assert json.loads(json.dumps(found.document()))["unknown"] == found.unknown
        assert " ".join(found.unknown.split()[:4]) in " ".join(text_of(found).split())


@settings(max_examples=15, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(gathered.schedules())
def test_every_step_of_items(drawn: list[dict[str, Any]]) -> None:
    """Of sums, means and choices."""
    follow(run_of(drawn))


@settings(max_examples=15, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(readings.schedules())
def test_every_step_of_readings(drawn: list[dict[str, Any]]) -> None:
    """This holds however late they arrive, and whatever fills the gaps."""
    follow(run_of([record | {"weaker": True} for record in drawn]))


@pytest.mark.parametrize(
    "members",
    [
        {"value": ITEM, "collect": REPLACE | SUM},
        {"value": ITEM, "collect": ADD_REMOVE | SUM},
        {"value": ITEM, "collect": REPLACE | MEAN},
        {"value": gathered.CHOICE, "collect": REPLACE},
    ],
    ids=["sum", "open sum", "mean", "choice"],
)
def test_the_rate_is_the_worker_s(members: dict[str, Any]) -> None:
    """Before each step the fold had exactly this rate, which follows from measurements, scales and item counts."""
    protection = {"level": "landmark", "landmarks": [[50, 90]], "step": STEP}
    run = run_of([collected(**members, scheme=ADAPTIVE, epsilon=20.0, protection=protection), watermark(0)])
    rates, known = {}, set()
    for nth in range(30):
        at = nth * STEP
        rates[at] = run.rows["ward-3"].state.latest.rate_nano
        items = ("north", "west") if "items" in members["value"] else (5, -2)
        for who in range(nth * 7 % 5):
            run.feed(contribution(at, f"m{who}", items[nth // 3 % 2]))
        run.feed(watermark(at + STEP))
    for at, rate in rates.items():
        found = explained(run.ledger, at, run.releases, "ward-3")
        if found.is_tossed:
            assert found.rate_nano == rate
            known.add(rate)
    assert len(known) >= 2


def test_what_is_said() -> None:
    """The texts cover a mean, two measurements, optional readings, a gap, and a vector's noise."""
    mean = run_of([collected(collect=REPLACE | MEAN, value=ITEM, epsilon=1.0), watermark(0), watermark(10)])
    text = " ".join(text_of(explained(mean.ledger, 0, (), "ward-3")).split())
    assert (
        "The value is the mean of the items that contributors sent. Its release says how many; no record shows "
        "what they"
    ) in text
    assert "on noise of scale 7.5, divided by the number of items that the release states." in text
    hidden = run_of([collected(collect=ADD_REMOVE | MEAN, value=ITEM, epsilon=1.0), watermark(0), watermark(10)])
    assert "on noise of scale 8 on sum, 2 on count." in text_of(explained(hidden.ledger, 0, (), "ward-3"))
    odd = run_of([collected(collect=ADD_REMOVE | MEAN, value=ITEM, epsilon=1e-9), watermark(0), watermark(10)])
    assert "A share of 1 cannot be halved" in explained(odd.ledger, 0, (), "ward-3").reason
    absent = run_of([readings.within(protection={"absent": 2.5}), readings.watermark(0), readings.watermark(10)])
    assert "or whether there were any" in explained(absent.ledger, 0, (), "ward-3").unknown
    gaps = {"absent": "approximated"}
    gap = run_of([readings.within(protection=gaps), readings.watermark(0), readings.watermark(10)])
    assert explained(gap.ledger, 0, (), "ward-3").reason.startswith("The step had no reading, and the policy fills")
    vector = run_of([policy("a", value=VECTOR), observation("a", 0, {"pulse": 70, "oxygen": 0.97})])
    assert "on noise of scale 0.6 on oxygen, 380 on pulse." in text_of(explained(vector.ledger, 0, (), "a"))
    assert explained(vector.ledger, 0, (), "a").unknown == ""


@pytest.mark.parametrize("command", ["audit", "standing"])
def test_other_commands_take_such_ledgers(command: str, tmp_path: Path, cli: Cli) -> None:
    """The page with plots, the JSON and the standing accept every kind."""
    runs = [
        run_of([collected(collect=REPLACE | MEAN, value=ITEM, series="m"), watermark(0, series="m")]),
        run_of([collected(collect=ADD_REMOVE, value=gathered.CHOICE, series="c"), watermark(0, series="c")]),
        run_of([readings.within(protection={"absent": 2.5}, series="r"), readings.watermark(0, "r")]),
        run_of([policy("v", value=VECTOR, filter="level"), observation("v", 0, {"pulse": 70, "oxygen": 0.97})]),
    ]
    runs[0].feed(watermark(30, series="m"))
    runs[1].feed(watermark(30, series="c"))
    runs[2].feed(readings.watermark(30, "r"))
    ledger, releases = tmp_path / "ledger.jsonl", tmp_path / "releases.jsonl"
    ledger.write_bytes(b"".join(line + b"\n" for run in runs for line in run.ledger))
    releases.write_bytes(b"".join(line + b"\n" for run in runs for line in run.releases))
    if command == "audit":
        pytest.importorskip("matplotlib")
        page = tmp_path / "page.html"
        files = ("--ledger", ledger, "--releases", releases)
        assert cli("audit", *files, "--html", page, "--json").document["holds"]
        assert page.read_text(encoding="utf-8").count("HOLDS") >= 1
        return
    for run, name in zip(runs, "mcrv", strict=True):
        inquiry = StandingInquiry(name, None)
        inquiry.entries(run.ledger)
        assert inquiry.answer().findings == ()
        assert main(["standing", name, "--ledger", str(ledger)]) == 0
