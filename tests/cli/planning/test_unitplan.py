"""``plan`` and ``check`` on statistics of units: tables, answers, added data, pictures and refusals."""

from pathlib import Path
from typing import Any

import pytest

from stream_app.cli import main
from stream_app.demo.data import glucose
from tests.command import Cli, saved

POLICY: dict[str, Any] = {
    "type": "policy",
    "series": "glucose",
    "version": 1,
    "epsilon": 1.0,
    "protection": {
        "level": "landmark",
        "landmarks": ["2010-05-12"],
        "zone": "UTC",
        "unit": "1h",
        "step": "1d",
        "open_steps": 2,
    },
    "scheme": {"name": "uniform"},
    "value": {"kind": "number", "lower": 40, "upper": 400, "resolution": 1, "statistic": "mean"},
}
PLAIN = POLICY | {
    "protection": {"level": "event", "step": 3_600_000},
    "value": {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.1},
}


@pytest.fixture(scope="module")
def readings(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a file of the demo's readings, as CSV."""
    file = tmp_path_factory.mktemp("data") / "glucose.csv"
    file.write_text("time,mgdl\n" + "".join(f"{at_ms},{value}\n" for at_ms, value in glucose()))
    return str(file)


COLUMNS = ["--series", "glucose", "--timestamp-column", "time", "--value-columns", "mgdl"]


def test_an_error_takes_an_epsilon_or_a_unit(tmp_path: Path, cli: Cli) -> None:
    """The table, the answer and the guarantee are text and JSON; this also works for a plain policy of numbers."""
    file = saved(tmp_path / "policy.jsonl", POLICY)
    shown = cli("plan", file, "--step", "day", "--error", "5").out
    assert "an error of 5 over a day needs epsilon 3 with a unit of 1 h or a unit of 20 min with epsilon 1" in shown
    assert "Landmarks that are registered before their step is published are left out as well." in " ".join(
        shown.split()
    )
    found = cli("plan", file, "--error", "5", "--json").document
    assert found["answer"]["span"] == "day"
    assert found["answer"]["epsilon"] == pytest.approx(3.0, abs=0.001)
    assert found["answer"]["unit_ms"] == 20 * 60_000
    (own,) = [row for row in found["table"] if row["own"]]
    assert own["spans"]["day"] == {"units": 24, "error": pytest.approx(15.0, abs=0.001), "constant": None}
    assert found["times"]["unit_ms"] == 3_600_000
    assert main(["plan", saved(tmp_path / "policy.jsonl", PLAIN), "--step", "week", "--error", "0.1"]) == 0
    assert "for an error of 0.1, epsilon 0.5953" in cli.said().out


def test_data_put_the_best_constant_beside_and_warn(tmp_path: Path, readings: str, cli: Cli) -> None:
    """`plan` and `check` do this for the demo's blood sugar; a glob takes only the series that it matches."""
    file = saved(tmp_path / "policy.jsonl", POLICY)
    words = ["plan", file, "--data", readings, *COLUMNS, "--picture", str(tmp_path / "units.png")]
    shown = cli(*words).out
    assert "16.3 (21.2)" in shown
    assert "autocorrelation falls below 0.5 after 1 h 45 min" in shown
    assert (tmp_path / "units.png").stat().st_size > 10_000
    assert main(["check", file, "--data", readings, *COLUMNS]) == 0
    assert "note: glucose: any unit, 1 h, is protected, but values stay similar for" in cli.said().out
    longer = POLICY | {"protection": POLICY["protection"] | {"unit": "2h"}}
    assert "resemble" not in cli("check", saved(tmp_path / "policy.jsonl", longer), "--data", readings, *COLUMNS).out
    other = POLICY | {"series": "pulse-*"}
    assert main(["plan", saved(tmp_path / "policy.jsonl", other), "--data", readings, *COLUMNS]) == 2
    assert "--data: has no valid value" in cli.said().err


@pytest.mark.parametrize(
    ("policy", "words", "message"),
    [
        (POLICY, ["--step", "day"], "--step: needs a target error; add --error"),
        (POLICY, ["--step", "90min", "--error", "1"], "is not a whole number of units of 1 h"),
        (POLICY, ["--step", "fortnight", "--error", "1"], "--step: found 'fortnight'; use \"day\""),
        (POLICY, ["--steps", "5"], "--steps: only for single events, not for statistics of units"),
        (PLAIN, ["--error", "1"], "add --statistic mean --step day for a daily mean"),
        (PLAIN, ["--series", "a"], "--data: missing"),
        (
            PLAIN | {"value": {"kind": "category", "categories": [True, False]}},
            ["--step", "day", "--error", "1"],
            "--step: only for series of numbers or statistics of units; glucose is neither",
        ),
    ],
)
def test_what_cannot_be_planned(
    tmp_path: Path, cli: Cli, policy: dict[str, Any], words: list[str], message: str
) -> None:
    """The message names the faulty option and the remedy."""
    assert message in cli("plan", saved(tmp_path / "policy.jsonl", policy), *words, code=2).err


def test_an_error_that_is_met(tmp_path: Path, cli: Cli) -> None:
    """The message does not suggest that something has to change."""
    shown = cli("plan", saved(tmp_path / "policy.jsonl", POLICY), "--step", "day", "--error", "30").out
    assert "over a day the error is now 15, if each unit has a reading; for an error of 30, epsilon 0.5 with" in shown


def test_days_that_are_not_those_of_the_zone(tmp_path: Path, cli: Cli) -> None:
    """`check` says so, and `replay` does by the file's zone; with the offset that they suggest, neither does."""
    (tmp_path / "data.csv").write_text("when,mgdl\n2026-03-20 12:00:00,100\n2026-03-21 12:00:00,100\n")
    protection: dict[str, Any] = {"level": "landmark", "step": "1d", "unit": "1h", "open_steps": 1}
    protection |= {"zone": "Europe/Berlin", "landmarks": ["2026-03-20"]}
    for offset, told in ((None, True), ("23h", False)):
        given = protection | ({} if offset is None else {"offset": offset})
        file = saved(tmp_path / "policy.jsonl", POLICY | {"protection": given})
        assert ('with "offset":"23h" they start at midnight there' in cli("check", file).out) == told
        columns = ["--timestamp-column", "when", "--value-columns", "mgdl", "--zone", "Europe/Berlin"]
        out = tmp_path / f"out-{offset}"
        more = ["--series", "glucose", *columns]
        found = cli("replay", tmp_path / "data.csv", *more, "--policies", file, "--out", out).err
        assert ("steps of 1 d start at 01:00 in Europe/Berlin" in found) == told
