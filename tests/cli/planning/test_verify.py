"""``verify``: its output, exit codes, seed and time limit."""

import json
from pathlib import Path
from typing import Any

import pytest

from stream_app.cli import main
from stream_app.cli.planning.verify import PolicyVerdict, _print
from stream_app.privacy.policy import policy_of
from stream_app.verify.verdict import MeasuredBounds, PairResult, Verdict
from tests.cli.planning.test_plan import written
from tests.command import Cli

NUMBER: dict[str, Any] = {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.001}
POLICY: dict[str, Any] = {
    "series": "home-*",
    "epsilon": 2.0,
    "protection": {"level": "user", "length": 1, "step": 10},
    "scheme": {"name": "uniform"},
    "value": NUMBER,
}
SHORT = ("--runs", "1500", "--seed", "7", "--jobs", "1")


def verified(cli: Cli, code: int, *words: str) -> list[dict[str, Any]]:
    """Return what ``--json`` prints, and check the exit code."""
    cli.said()
    return [json.loads(line) for line in cli("verify", *words, "--json", code=code).out.splitlines()]


def test_it_holds(tmp_path: Path, cli: Cli) -> None:
    """Text and JSON say the same; two processes find what one does, because the keys are derived from the seed."""
    file = written(tmp_path, POLICY)
    out = cli("verify", file, *SHORT).out
    assert out.startswith("HOLDS: ")
    (found,) = verified(cli, 0, file, *SHORT)
    pair, close = found.pop("pairs")
    assert close["pair"] == "one cell apart"
    assert close["control"]["runs"] == 0
    finds = found.pop("finds")
    assert finds.pop("events") == 1
    assert finds.pop("twice_the_budget") == 1
    assert 0.1 < finds.pop("excluded_outcome") < 0.5
    assert not finds
    assert "twice the budget: detected on 1 of 2 pairs" in out
    assert found.pop("seconds") > 0
    kind = {"series": "home-*", "level": "user", "scheme": "uniform", "kind": "number", "epsilon": 2.0}
    assert found == {**kind, "verdict": "holds", "seed": 7}
    assert pair["runs"] == pair["control"]["runs"] == 1500
    assert pair["certain"] < pair["bound"] <= pair["declared"] == 2.0 < pair["control"]["certain"]
    assert not pair["broken"]
    assert pair["control"]["found"]
    assert f"{pair['bound']:.3f}" in out
    (twice,) = verified(cli, 0, file, *SHORT[:-1], "2")
    assert twice["pairs"] == [pair, close]
    (other,) = verified(cli, 0, file, *SHORT[:3], "8", *SHORT[4:])
    assert other["pairs"] != [pair, close]


def test_no_power(tmp_path: Path, cli: Cli) -> None:
    """With too few runs, even the control is not found: the code is 3, also with another policy that holds."""
    faint = {**POLICY, "epsilon": 0.01}
    found = verified(cli, 3, written(tmp_path, POLICY, faint), *SHORT)
    assert [each["verdict"] for each in found] == ["holds", "no-power"]
    assert cli("verify", written(tmp_path, faint), *SHORT, code=3).out.startswith("NO POWER: ")


def test_a_bound_above_what_is_declared_is_said(cli: Cli) -> None:
    """Both verdicts mention it, with and without power, as long as the bound does not refute the claim."""
    policy = policy_of({name: POLICY[name] for name in ("epsilon", "protection", "scheme", "value")}, 1)
    sure, blind = MeasuredBounds(3.5, 3.0, 1500, "x"), MeasuredBounds(0.0, 0.0, 1500, "")
    for control, word in ((sure, "HOLDS"), (blind, "NO POWER")):
        (result,) = results = (PairResult("all steps", 2.0, MeasuredBounds(2.1, 1.6, 1500, "the value >= 3"), control),)
        assert result.above
        _print(PolicyVerdict("home-*", policy, Verdict(results, 1), 1.0))
        out = " ".join(cli.said().out.split())
        assert out.startswith(f"{word}")
        assert "a lower bound exceeds the declared loss at 95 %" in out
        assert "no bound passes" not in out
        assert "by the value >= 3" in out


def test_one_key_has_no_neighbours(tmp_path: Path, cli: Cli) -> None:
    """If every item is the same, nothing can be distinguished: the code is 3, no power, and a line says why."""
    alone = {**POLICY, "value": {"kind": "counts", "keys": ["walk"]}}
    alone["collect"] = {"neighbours": "replace", "open_steps": 1}
    assert "a single key" in cli("verify", written(tmp_path, alone), *SHORT, code=3).out


HOUR = 3_600_000
UNITS: dict[str, Any] = {
    "series": "home-*",
    "epsilon": 2.0,
    "protection": {"level": "landmark", "unit": HOUR, "step": 24 * HOUR, "open_steps": 1, "window": 2, "spare": 1},
    "scheme": {"name": "uniform"},
    "value": {**NUMBER, "statistic": "mean", "by": "hour"},
}


def test_what_it_looked_at_in_units(tmp_path: Path, cli: Cli) -> None:
    """Words within 80 columns and JSON show it; only landmark units are declared 0."""
    marked = {**UNITS["protection"], "landmarks": [[30 * HOUR, 32 * HOUR]]}
    file, few = written(tmp_path, {**UNITS, "protection": marked}), ("--runs", "40", "--seed", "7", "--jobs", "1")
    main(["verify", file, *few])
    _, title, *lines = cli.said().out.splitlines()
    assert title.startswith("home-*: landmark, uniform, number, mean of units by hour, epsilon 2; ")
    table = next(nth for nth, line in enumerate(lines) if "declared  at least" in line)
    assert max(map(len, lines[: table + 9])) <= 80
    assert " ".join(" ".join(lines[:table]).split()) == (
        "Each unit lasts 1 h, and a step of 1 d contains 24 of them. The two histories of a pair differ in one unit; "
        "in 2 consecutive units, within one step or across two; in landmark units. A pair that differs in fewer units "
        "than a window has a declared loss of their share of epsilon. A pair that differs only in landmark units "
        "has a declared loss of 0: no release may depend on them."
    )
    (found,) = verified(cli, 3, file, *few)
    assert {name: found[name] for name in ("kind", "statistic", "by")} == {
        "kind": "number",
        "statistic": "mean",
        "by": "hour",
    }
    declared = {pair["pair"]: pair["declared"] for pair in found["pairs"]}
    assert (declared["one unit"], declared["landmark units"]) == (1.0, 0.0)
    event = {"level": "event", "unit": HOUR, "step": 24 * HOUR, "open_steps": 1}
    main(["verify", written(tmp_path, {**UNITS, "protection": event}), *few])
    out = " ".join(cli.said().out.split())
    assert "contains 24 of them. The two histories of a pair differ in one unit. declared" in out


def test_time_ends_it(tmp_path: Path, cli: Cli) -> None:
    """The time limit ends it, and the result covers the runs done by then."""
    words = ("--runs", "100000000", "--seconds", "1", "--jobs", "1")
    (found,) = verified(cli, 3, written(tmp_path, {**POLICY, "epsilon": 1e-6}), *words)
    assert 0 < found["pairs"][0]["runs"] < 100_000_000


def test_a_picture(tmp_path: Path) -> None:
    """The picture has one plot per policy in the file."""
    picture = tmp_path / "verified.svg"
    file = written(tmp_path, POLICY, {**POLICY, "series": "a$b$c"})
    main(["verify", file, "--runs", "50", "--seed", "1", "--jobs", "1", "--picture", str(picture)])
    assert picture.read_text().count("<svg") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["missing.json"], "there is no such file"),
        (["POLICY", "--picture", "out"], "file extension must give the format"),
        (["BAD"], "epsilon"),
    ],
)
def test_what_cannot_be_verified(tmp_path: Path, cli: Cli, words: list[str], said: str) -> None:
    """The exit code is 2, and the remedy is given."""
    files = {"POLICY": POLICY, "BAD": {**POLICY, "epsilon": -1}}
    named = [written(tmp_path, files[word]) if word in files else word for word in words]
    assert said in cli("verify", *named, code=2).err
