"""Lines on a terminal of 80 columns: folded between words there, unbroken in a pipe."""

import argparse
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from stream_app.audit.standing.standing import MemberStanding
from stream_app.audit.standing.text import table_of
from stream_app.cli import COMMANDS, parser_of
from stream_app.cli.shared.terminal import folded

POLICY = (
    '{"type":"policy","series":"home-7","version":1,"epsilon":4,"protection":{"level":"landmark","step":3600000,'
    '"zone":"Europe/Paris","landmarks":["2025-08-04/2025-08-08"]},"scheme":{"name":"balanced"},'
    '"value":{"kind":"number","lower":0,"upper":10,"resolution":0.001}}'
)
COLUMNS = 80


def _in_terminal(monkeypatch: pytest.MonkeyPatch, command: list[str]) -> list[str]:
    """Return the lines that a command writes to a terminal."""
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    monkeypatch.setenv("TERM", "dumb")
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL) as process:
        os.close(theirs)
        found = b""
        try:
            while part := os.read(ours, 65536):
                found += part
        except OSError:  # Linux says so that nobody writes to it any more
            pass
        process.wait()
    os.close(ours)
    return found.decode().splitlines()


def test_check_and_plan_fit_80_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal breaks no line itself, and a pipe gets the same words, one sentence per line."""
    policies = tmp_path / "policies.json"
    policies.write_text(POLICY)
    for name in ("check", "plan"):
        command = [sys.executable, "-m", "stream_app", name, str(policies)]
        shown = _in_terminal(monkeypatch, command)
        assert [line for line in shown if len(line) > COLUMNS] == []
        piped = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        sentence = "step 1 h; 120 landmark steps in 1 interval, 2025-08-04T00:00+02:00 to 2025-08-09T00:00+02:00"
        assert sentence in piped
        assert sentence in " ".join(" ".join(shown).split())


def test_help_fits_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """This holds for every command and action, except for lines with commands to copy."""
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    parsers: list[argparse.ArgumentParser] = [parser_of(COMMANDS)]
    for parser in parsers:
        for action in parser._actions:  # noqa: SLF001 (argparse names its commands nowhere else)
            named = action.choices.values() if isinstance(action.choices, dict) else ()
            parsers += [each for each in named if isinstance(each, argparse.ArgumentParser)]
    assert len(parsers) > len(COMMANDS)
    lines = [line for parser in parsers for line in parser.format_help().splitlines()]
    assert [line for line in lines if len(line) > COLUMNS and ":  landmark-stream completion" not in line] == []


def test_verify_fits_80_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With too few runs to find anything, the longest verdict appears."""
    policies = tmp_path / "policies.json"
    policies.write_text(POLICY.replace('"epsilon":4', '"epsilon":0.1'))
    shown = _in_terminal(monkeypatch, [sys.executable, "-m", "stream_app", "verify", str(policies), "--runs", "40"])
    assert "NO POWER: a worker that spends twice as much was not detected either; use more" in " ".join(shown)
    assert [line for line in shown if len(line) > COLUMNS] == []


def test_long_words_stay_whole() -> None:
    """Text to copy from a terminal, such as an id or an address, is not cut; further lines are indented."""
    long = "x" * 100
    assert folded(f"  series {long} is open", COLUMNS).splitlines() == ["  series", f"    {long}", "    is open"]
    assert folded("a  b", COLUMNS) == "a  b"


def test_a_long_member_moves_its_own_line_alone() -> None:
    """The other lines of the table keep their columns within the width."""
    members = [MemberStanding(name, 5 * 10**9, 4 * 10**9, 1) for name in ("p-17", "x" * 200)]
    head, short, long = table_of(members).splitlines()
    assert len(head) == len(short) <= COLUMNS
    assert long.split() == ["x" * 200, "5.0", "4.0", "1.0", "80", "%", "1"]
