"""Output of ``audit``: hostile names drive no terminal, odd ones hide no verdict, no empty ledger holds."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from stream_app.cli import main
from tests.audit.written import LEDGERS, Written, write
from tests.command import Cli


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a true ledger."""
    save(tmp_path / "ledger.jsonl", write(LEDGERS["uniform"]))
    return tmp_path


def save(ledger: Path, written: Written) -> None:
    """Write a ledger."""
    ledger.write_bytes(b"".join(line + b"\n" for line in written.lines()))


def test_a_terminal_is_not_driven(tmp_path: Path, cli: Cli) -> None:
    """A series id from a hostile ledger reaches the terminal escaped."""
    written = write(LEDGERS["uniform"], "\x1b[2J\nHOLDS: no findings")
    del written.entries[1]
    save(tmp_path / "ledger.jsonl", written)
    output = cli("audit", "--ledger", f"{tmp_path}/ledger.jsonl", code=1).out
    assert "\x1b" not in output
    assert "\nHOLDS" not in output


def test_any_name_is_printed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On an ASCII-only terminal, a series' name does not hide the verdict, and JSON remains JSON."""
    name = "gr\u00f6\u00dfe-\u9ad8-\U0001f600"
    save(folder / "ledger.jsonl", write(LEDGERS["uniform"], name))
    command = [sys.executable, "-m", "stream_app", "audit", "--ledger", f"{folder}/ledger.jsonl"]
    monkeypatch.setenv("PYTHONIOENCODING", "ascii:strict")
    done = subprocess.run(command, capture_output=True, check=True)
    assert done.stdout.startswith(b"HOLDS: no findings\n")
    assert b"; gr\\xf6\\xdfe-\\u9ad8-\\U0001f600)" in done.stdout
    written = write(LEDGERS["uniform"], name)
    del written.entries[2]
    save(folder / "ledger.jsonl", written)
    done = subprocess.run([*command, "--json"], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (1, b"")
    assert json.loads(done.stdout)["findings"][0]["series"] == name


def test_an_error_drives_no_terminal(folder: Path, cli: Cli) -> None:
    """An error escapes the name of a file, whatever the name is."""
    assert main(["audit", "--ledger", f"{folder}/\x1b[2J\x9bHOLDS"]) == 2
    assert "/\\x1b[2J\\x9bHOLDS: there is no such file" in cli.said().err


def test_nothing_is_said_to_hold_nothing(tmp_path: Path, cli: Cli) -> None:
    """An empty ledger exits with 3, as text, JSON and a page, and nothing says that it holds."""
    command = ["audit", "--ledger", f"{tmp_path}/ledger.jsonl"]
    for empty in (b"", b"\n\n"):
        (tmp_path / "ledger.jsonl").write_bytes(empty)
        assert cli(*command, code=3).out.startswith("NOTHING WAS AUDITED: the ledger has no entries;")
    found = cli(*command, "--json", code=3).document
    assert (found["holds"], found["audited"], found["findings"]) == (False, False, [])
    assert main([*command, "--html", f"{tmp_path}/page.html"]) == 3
    assert '<h1 class="fails">NOTHING WAS AUDITED' in (tmp_path / "page.html").read_text()


def test_releases_of_an_empty_ledger_are_findings(tmp_path: Path, cli: Cli) -> None:
    """Releases published without a ledger are findings, even if the ledger is empty."""
    (tmp_path / "empty.jsonl").write_bytes(b"")
    (tmp_path / "releases.jsonl").write_bytes(b'{"series":"a","timestamp":0,"decision":"withheld","policy":1}\n')
    releases = ["--releases", f"{tmp_path}/releases.jsonl"]
    assert main(["audit", "--ledger", f"{tmp_path}/empty.jsonl", *releases]) == 1
    assert cli.said().out.startswith("DOES NOT HOLD: 1 finding\n")


@pytest.mark.parametrize("second", [["--html", "page.html"], ["--picture", "picture.png"], ["--compose", "sequential"]])
def test_a_pipe_is_not_read_twice(folder: Path, second: list[str], monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    """A pipe that would have to be read twice is refused before it is read; the audit alone accepts one."""
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(folder)
    for more, code, said in ((second, 2, ""), ([], 0, "HOLDS: no findings")):
        out, into = os.pipe()
        os.write(into, (folder / "ledger.jsonl").read_bytes())
        os.close(into)
        assert main(["audit", "--ledger", f"/dev/fd/{out}", *more]) == code
        os.close(out)
        captured = cli.said()
        assert captured.out.partition("\n")[0] == said
        assert ("read only once; specify a regular file" in captured.err) == (code == 2)
