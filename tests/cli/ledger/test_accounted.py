"""The commands `audit --correlation` and `--compose`: output in text, JSON and HTML, and refusals."""

from pathlib import Path

import orjson
import pytest

from tests.accounting.worked import BACKWARD, MATRIX, TENTH, TOTAL
from tests.audit.written import LEDGERS, Record, cover, seal, write
from tests.command import Cli

PRINTED = 0.5e-4
AUDIT = ("audit", "--ledger", "ledger.jsonl")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the ledger of two series and files about them, in which commands run.

    One of the series names a correlation.
    """
    monkeypatch.chdir(tmp_path)
    named = write(TENTH, "home-1")
    named.entries[0]["parameters"]["correlation"] = "household"
    lines = seal(cover(named)).lines() + write(LEDGERS["event"], "home-2").lines()
    (tmp_path / "ledger.jsonl").write_bytes(b"\n".join(lines))
    save(tmp_path / "worked.json", {"backward": MATRIX, "forward": MATRIX})
    save(tmp_path / "nothing.json", {"backward": None, "forward": None})
    save(tmp_path / "members.json", {"home-1": "ann", "home-2": "bob"})
    return tmp_path


def save(path: Path, document: object) -> None:
    """Write a document."""
    path.write_bytes(orjson.dumps(document))


@pytest.mark.usefixtures("folder")
def test_losses_of_the_worked_example(cli: Cli) -> None:
    """A policy's correlation is found by name; series without a file are left out, and the output says so."""
    document = cli(*AUDIT, "--correlation", "household=worked.json", "--json").document
    assert document["holds"] is True
    (exposure,) = document["temporal"]
    assert (exposure["series"], exposure["correlation"]) == ("home-1", "worked.json")
    assert (exposure["start"], exposure["step"], exposure["landmarks"]) == (0, 1000, [])
    assert exposure["backward"] == pytest.approx(BACKWARD, abs=PRINTED)
    assert exposure["forward"] == pytest.approx(BACKWARD[::-1], abs=PRINTED)
    assert exposure["total"] == pytest.approx(TOTAL + TOTAL[::-1], abs=PRINTED)
    assert exposure["sum"] == pytest.approx(1.0, rel=1e-12)
    assert document["left_out"] == [{"series": "home-2", "reason": "no --correlation was given for it"}]


@pytest.mark.usefixtures("folder")
def test_a_file_without_a_name_is_for_all_others(cli: Cli) -> None:
    """If nothing is known, a step loses what it spends, or 0 if nothing was decided."""
    arguments = ("--correlation", "nothing.json", "--correlation", "household=worked.json", "--json")
    exposures = {exposure["series"]: exposure for exposure in cli(*AUDIT, *arguments).document["temporal"]}
    assert {name: exposure["correlation"] for name, exposure in exposures.items()} == {
        "home-1": "worked.json",
        "home-2": "nothing.json",
    }
    assert exposures["home-2"]["total"] == pytest.approx([7e-9, 7e-9, 0, 0, 0, 7e-9], rel=1e-12)


@pytest.mark.usefixtures("folder")
def test_compositions_come_with_theorem_and_domain(cli: Cli) -> None:
    """Each figure is shown under its theorem; the verdict stays on the first line."""
    asked = ["sequential", "parallel-series", "parallel-members", "discounted-exponential", "correlated"]
    arguments = [word for name in asked for word in ("--compose", name)]
    arguments += ["--members", "members.json", "--rate", "0", "--correlation", "worked.json", "--window", "10"]
    lines = cli(*AUDIT, *arguments).out.splitlines()
    assert lines[0] == "HOLDS: no findings"
    at = lines.index("  all series: 0.100000007")
    assert lines[at - 1].startswith("sequential: the sum over all series (McSherry 2009, theorem 3); a bound if")
    assert [line for line in lines if line.startswith("  all series:")] == ["  all series: 0.100000007"]
    assert lines[lines.index("  the series with the largest loss, home-1: 0.1") - 1].startswith(
        "parallel-series: the largest"
    )
    assert lines[lines.index("  the person with the largest loss, ann: 0.1") - 1].startswith(
        "parallel-members: the largest"
    )
    assert "  home-1: 1 (rate 0 per step)" in lines
    assert "  home-1: 1 (10 steps in a row)" in lines
    assert any(line.startswith("discounted-exponential") and "an estimate, not a bound" in line for line in lines)


def test_findings_stay_findings(folder: Path, cli: Cli) -> None:
    """Additional computations change neither the verdict nor the exit code."""
    ledger = folder / "ledger.jsonl"
    lines = ledger.read_bytes().splitlines()
    ledger.write_bytes(b"\n".join(lines[:4] + lines[5:]))
    document = cli(*AUDIT, "--compose", "sequential", "--json", code=1).document
    assert document["composition"][0]["theorem"].startswith("the sum over all series")


def test_the_page_shows_them(folder: Path, cli: Cli) -> None:
    """The HTML report contains tables and plots of losses and compositions."""
    pytest.importorskip("matplotlib")
    arguments = ("--correlation", "household=worked.json", "--compose", "correlated", "--html", "page.html")
    cli(*AUDIT, *arguments)
    page = (folder / "page.html").read_text()
    for title in ("Temporal loss of home-1", "Landmark loss of home-1", "Composition", "Series left out"):
        assert f"<h2>{title}</h2>" in page
    # With two series there is no histogram of series.
    assert page.count("<svg") == 4 + 2


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--correlation", "no-such-file"], "no-such-file"),
        (["--correlation", "household=members.json"], "members.json"),
        (["--compose", "correlated"], "--correlation"),
        (["--compose", "parallel-members"], "--members"),
        (["--compose", "sequential", "--members", "members.json"], "parallel-members"),
        (["--compose", "parallel-members", "--members", "worked.json"], "members"),
        (["--compose", "parallel-members", "--members", "other.json"], "'home-2'"),
        (["--compose", "parallel-members", "--members", "ledger.jsonl"], "ledger.jsonl"),
        (["--compose", "discounted-hyperbolic"], "--rate"),
        (["--compose", "discounted-hyperbolic", "--rate", "-1"], "rate"),
        (["--compose", "discounted-hyperbolic", "--rate", "nan"], "rate"),
        (["--members", "members.json"], "--compose"),
        (["--rate", "1"], "--compose"),
    ],
)
def test_what_does_not_fit_exits_2(folder: Path, arguments: list[str], problem: str, cli: Cli) -> None:
    """The error names the argument and the remedy, and nothing is printed as a report."""
    other: Record = {"home-1": "ann"}
    save(folder / "other.json", other)
    captured = cli(*AUDIT, *arguments, code=2)
    assert captured.out == ""
    assert problem in captured.err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("arguments", [["--compose", "all"], ["--window", "0"], ["--window", "two"], ["--rate", "x"]])
def test_words_that_are_not_known_are_refused(cli: Cli, arguments: list[str]) -> None:
    """The parser refuses unknown words with exit code 2."""
    cli.ended(*AUDIT, *arguments)
