"""`python -m benchmarks`: its JSON, table and exit codes, and what it refuses."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import main

CORE = [
    "core",
    *["--events", "200", "--series", "20", "--repeats", "2", "--scheme", "balanced", "--kind", "category"],
]
PARTS = ("decide", "decode", "step", "encode", "dump_row")


def test_answers_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is one object: the machine, and each benchmark's sizes, figures and targets; no files are left."""
    assert main([*CORE, "--folder", str(tmp_path), "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert document["machine"].keys() == {"cpu", "cores", "python", "system", "load"}
    (result,) = document["results"]
    assert result["bench"] == "core"
    assert result["sizes"]["repeats"] == 2
    assert result["figures"].keys() == {f"balanced_category_{part}" for part in PARTS}
    for figure in result["figures"].values():
        assert figure["unit"] == "us"
        assert len(figure["runs"]) == 2
        assert figure["min"] <= figure["median"] <= figure["max"]
    assert result["targets"] == []
    assert list(tmp_path.iterdir()) == []


def test_answers_in_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    """The machine is shown first, then the figures."""
    assert main(CORE) == 0
    shown = capsys.readouterr().out
    assert "Python" in shown
    assert "balanced category decide" in shown


def test_audits_a_ledger_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Speed is a ratio within one run, and memory meets its target; the ledger is removed afterwards."""
    sizes = ["--events", "300", "--series", "30", "--repeats", "1"]
    assert main(["audit", *sizes, "--folder", str(tmp_path), "--json"]) == 0
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert result["figures"].keys() == {"audit", "parse_and_hash", "audit_over_parse_and_hash", "peak_memory"}
    assert [target["met"] for target in result["targets"]] == [True]
    assert list(tmp_path.iterdir()) == []


def test_counts_contributions() -> None:
    """It counts them accepted, recalled, in bytes and closed, in its own process; this one has spare memory."""
    words = ["collect", "--events", "20500", "--repeats", "1", "--json"]
    done = subprocess.run([sys.executable, "-m", "benchmarks", *words], capture_output=True, check=True)
    (result,) = json.loads(done.stdout)["results"]
    assert result["figures"].keys() == {"taken", "recalled", "memory", "closed_cell"}
    assert all(figure["min"] > 0 for figure in result["figures"].values())


def test_an_unknown_benchmark_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """The error names the existing ones."""
    with pytest.raises(SystemExit, match="2"):
        main(["nothing"])
    assert "worker" in capsys.readouterr().err


def test_sizes_are_positive(capsys: pytest.CaptureFixture[str]) -> None:
    """Zero events cannot be measured."""
    with pytest.raises(SystemExit, match="2"):
        main(["worker", "--events", "0"])
    assert "at least 1" in capsys.readouterr().err
