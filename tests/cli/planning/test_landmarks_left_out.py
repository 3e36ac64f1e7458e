"""Unpublished landmarks, from `plan` and `check` to `replay`, `audit` and `explain`; and loud noise."""

import json
from pathlib import Path
from typing import Any

import pytest

from stream_app.outlook.loud import loud
from stream_app.privacy.policy import policy_of
from tests.command import Cli, saved
from tests.run import KINDS, MADE_UP, NUMBER

HOUR = 3_600_000
LANDMARKS: dict[str, Any] = {"level": "landmark", "landmarks": [0, [3 * HOUR, 5 * HOUR]], "step": HOUR}
ALL = {"name": "balanced", "regular_share": 1}
POLICY: dict[str, Any] = {
    "type": "policy",
    "series": "home-7",
    "version": 1,
    "epsilon": 1.0,
    "protection": {**LANDMARKS, "spare": 2},
    "scheme": {"name": "balanced"},
    "value": NUMBER,
}
LOUD = (
    "home-7: scheme: the noise at a landmark has a scale of 100, which exceeds the range of 10. With "
    '{"name":"balanced","regular_share":1} landmarks are not published, and the other steps get all of '
    "epsilon. The price is a larger temporal loss."
)
PRICE = "The price is temporal loss if values resemble their neighbours: "


def test_replay_audit_and_explain(tmp_path: Path, cli: Cli) -> None:
    """The first landmark is withheld, later ones repeat the last release, other steps each spend all of epsilon."""
    file = saved(tmp_path / "policies.jsonl", {**POLICY, "scheme": ALL})
    events = [{"series": "home-7", "timestamp": nth * HOUR, "value": nth} for nth in range(8)]
    out = tmp_path / "out"
    cli("replay", *MADE_UP, saved(tmp_path / "events.jsonl", *events), "--policies", file, "--out", out)
    releases = [json.loads(line) for line in (out / "releases.jsonl").read_text().splitlines()]
    spends = [release.get("epsilon_nano", 0) for release in releases]
    assert spends == [0, 10**9, 10**9, 0, 0, 10**9, 10**9, 10**9]
    assert [releases[nth]["decision"] for nth in (0, 3, 4)] == ["withheld", "approximated", "approximated"]
    assert [releases[nth]["source"] for nth in (3, 4)] == [2 * HOUR, 2 * HOUR]
    assert releases[1]["scale"] == pytest.approx(10)
    ledger = out / "ledger.jsonl"
    assert cli("audit", "--ledger", ledger, "--releases", out / "releases.jsonl", "--json").document["holds"]
    told = cli("explain", "home-7", str(3 * HOUR), "--ledger", ledger).out
    assert "Balanced gives landmarks nothing: its regular share is 1." in told
    plain = " ".join(cli("explain", "home-7", "0", "--plain", "--ledger", ledger).out.split())
    assert "there was nothing to repeat yet. The scheme gives landmarks nothing." in plain
    assert "The scheme gives nothing to the 4 future landmarks, including unused spare landmarks." in plain


ODDS = "someone who thought a claim 10 % likely thinks it at most about 23 % likely"


def test_check_says_what_landmarks_get(tmp_path: Path, cli: Cli) -> None:
    """A note says their noise exceeds the range, with the remedy; under the remedy, it says none is published."""
    half = saved(tmp_path / "half.jsonl", POLICY)
    assert f"note: {LOUD}\n" in cli("check", half).out
    found = cli("check", half, "--json").document
    assert found["holds"]
    assert found["notes"] == [LOUD]
    assert found["times"][0]["odds"] == {"prior": 0.1, "at_most": pytest.approx(0.23197, abs=5e-6)}
    every = saved(tmp_path / "all.jsonl", {**POLICY, "scheme": ALL})
    said = " ".join(cli("check", every).out.split())
    assert "Landmarks are not published. Each one repeats the last release or is withheld, at no cost." in said
    assert f"In odds: {ODDS} afterwards." in said
    assert "budget is reserved" not in said
    assert "note:" not in said


def test_plan_leads_with_it_and_names_its_price(tmp_path: Path, cli: Cli) -> None:
    """It is first in the table; the own scheme's noise, odds, and both losses under a correlation follow."""
    file = saved(tmp_path / "policies.jsonl", POLICY)
    shown = cli("plan", file).out
    rows = [line.split("│")[1].strip() for line in shown.splitlines() if line.startswith("│")]
    assert rows[0] == "balanced 1"
    assert "balanced 0.5 *" in rows
    assert f"note: {LOUD}\n" in shown
    assert ODDS in " ".join(shown.split())
    assert (
        "With balanced 1 no landmark is published: each one repeats the last release or is withheld, at no cost."
        in shown
    )
    assert "The price is a larger temporal loss if values resemble their neighbours; --correlation" in shown
    matrix = [[0.8, 0.2], [0.1, 0.9]]
    known = saved(tmp_path / "correlation.json", {"backward": matrix, "forward": matrix})
    plan = cli("plan", file, "--correlation", known, "--json").document
    losses = {scheme["label"]: scheme["temporal_loss"]["total"] for scheme in plan["schemes"]}
    assert losses["balanced 1"] > losses["balanced 0.75"] > losses["balanced 0.5"]
    assert plan["schemes"][0]["landmark"]["published"] == 0
    assert plan["warnings"] == [LOUD]
    assert plan["odds"]["prior"] == 0.1
    own = f"{losses['balanced 1']:.4g} under balanced 1, {losses['balanced 0.5']:.4g} under balanced 0.5."
    assert PRICE + own in cli("plan", file, "--correlation", known).out
    event = saved(tmp_path / "event.jsonl", {**POLICY, "protection": {"level": "event", "step": HOUR}})
    assert "no landmark is published" not in cli("plan", event).out
    units = {**POLICY["protection"], "unit": HOUR, "step": 24 * HOUR, "open_steps": 1}
    mean = {**NUMBER, "statistic": "mean"}
    of_units = saved(tmp_path / "units.jsonl", {**POLICY, "protection": units, "value": mean})
    assert ODDS in " ".join(cli("plan", of_units).out.split())
    assert cli("plan", of_units, "--json").document["odds"]["prior"] == 0.1


@pytest.mark.parametrize(
    ("kind", "members", "words"),
    [
        ("number", {}, "60, which exceeds the range of 10"),
        ("number", {"epsilon": 6.0}, None),
        ("number", {"value": {**NUMBER, "sensitivity": 1}}, None),
        ("number", {"scheme": ALL}, None),
        ("number", {"protection": {**LANDMARKS, "landmarks": []}}, None),
        ("number", {"protection": {"level": "user", "length": 90, "step": HOUR}}, None),
        ("number", {"dummies": {"method": "padding", "probability": 0.5, "start": 0, "end": 9 * HOUR}}, None),
        ("vector", {}, "12 times the range of each part"),
        ("location", {"epsilon": 0.05}, "60,000 m, which exceeds the 39,860 m across the bounds"),
        ("location", {}, None),
        ("counts", {}, None),
        ("category", {}, None),
    ],
)
def test_noise_beyond_the_range(kind: str, members: dict[str, Any], words: str | None) -> None:
    """Kinds with a range get a note if landmarks are published and their number is not secret."""
    protection = LANDMARKS if "dummies" in members else {**LANDMARKS, "spare": 2}
    parameters = {"epsilon": 1.0, "protection": protection, "scheme": {"name": "uniform"}, "value": KINDS[kind]}
    found = loud(policy_of(parameters | members, 1))
    assert (found and found.words) == words
    assert found is None or found.scale > found.range
