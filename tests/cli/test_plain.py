"""Plain output: text only without a terminal, no colours if NO_COLOR forbids them, and the version."""

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import stream_app
from stream_app.cli import COMMANDS, main
from tests.cli.operating.test_top import serving
from tests.command import Cli
from tests.monitoring.test_snapshot import busy
from tests.run import MADE_UP
from tests.terminal import CONTROL, Terminal, terminal

COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])[;m]")
"""A sequence that sets a colour (ECMA-48, 8.3.117)."""
EVENT = '{"series":"home-7","timestamp":%d,"value":1}\n'
POLICY = (
    '{"series":"*","epsilon":1.0,"protection":{"level":"event"},"scheme":{"name":"uniform"},'
    '"value":{"kind":"number","lower":0,"upper":10,"resolution":1}}\n'
)


def test_the_version(cli: Cli) -> None:
    """The output is name and version, as in the installed package."""
    assert cli.ended("--version", code=0).out == f"landmark-stream {stream_app.__version__}\n"
    assert version("landmark-stream") == stream_app.__version__


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_text(name: str, cli: Cli) -> None:
    """Every command explains itself, without control codes in a pipe."""
    output = cli.ended(name, "--help", code=0).out
    assert output.startswith(f"usage: landmark-stream {name}")
    assert CONTROL not in output


def test_no_command_takes_a_pipe_for_a_terminal() -> None:
    """Only Rich detects whether a terminal is attached; no code claims one or prints control codes itself."""
    sources = [*Path(stream_app.__file__).parent.rglob("*.py")]
    assert len(sources) > 100
    found = [file.name for file in sources if re.search(r"force_\w+=|\\x1b\[|\\033\[", file.read_text())]
    assert found == []


def replaying(folder: Path) -> list[str]:
    """Write events and a policy; return arguments that replay them long enough to show a progress bar."""
    (folder / "events.jsonl").write_text("".join(EVENT % step for step in range(2_000)))
    (folder / "policies.jsonl").write_text(POLICY)
    return [
        "replay",
        *MADE_UP,
        f"{folder}/events.jsonl",
        "--policies",
        f"{folder}/policies.jsonl",
        "--out",
        f"{folder}/out",
    ]


def test_a_pipe_gets_text(tmp_path: Path) -> None:
    """A command that shows a bar on a terminal shows none in a pipe, on either stream."""
    command = [sys.executable, "-m", "stream_app", *replaying(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert CONTROL not in done.stdout + done.stderr
    assert "2000" in done.stdout


def shown_of(shown: Terminal, wanted: str) -> str:
    """Return everything that a program showed until it ended successfully."""
    shown.until(wanted)
    assert shown.end() == 0
    return shown.text


def test_no_colour_where_it_is_not_wanted(tmp_path: Path) -> None:
    """A bar and a table with an alarm are coloured on a terminal, but not under NO_COLOR."""
    words = replaying(tmp_path)
    with serving(busy()) as (url,):
        for environment, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
            with terminal(*words, **environment) as shown:
                assert bool(COLOUR.search(shown_of(shown, "replay"))) is coloured
            with terminal("top", "--once", "--interval", "0", "--url", url, **environment) as shown:
                assert bool(COLOUR.search(shown_of(shown, "partitions stopped"))) is coloured


TABLES = {
    "plan": ("plan", "policies.jsonl"),
    "check": ("check", "policies.jsonl"),
    "audit": ("audit", "--ledger", "out/ledger.jsonl", "--releases", "out/releases.jsonl"),
    "audit in words": ("audit", "--ledger", "out/ledger.jsonl", "--plain"),
    "standing": ("standing", "home-7", "--ledger", "out/ledger.jsonl"),
    "standing in words": ("standing", "home-7", "--ledger", "out/ledger.jsonl", "--plain"),
    "explain in words": ("explain", "home-7", "0", "--ledger", "out/ledger.jsonl", "--plain"),
    "releases": ("read", "releases", "--help"),
}
"""Commands that print tables and paragraphs, for files in a folder."""


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a policy and what was decided under it."""
    folder = tmp_path_factory.mktemp("decided")
    assert main(replaying(folder)) == 0
    return folder


@pytest.mark.parametrize("name", TABLES)
def test_tables_and_paragraphs_fit_a_terminal_of_80_columns(
    name: str, decided: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The terminal breaks no row or paragraph; a dumb one gets only text, and NO_COLOR removes colours."""
    monkeypatch.chdir(decided)
    with terminal(*TABLES[name], COLUMNS="80", TERM="dumb") as plain:
        assert plain.end() == 0
    with terminal(*TABLES[name], COLUMNS="80", NO_COLOR="1") as shown:
        assert shown.end() == 0
    assert CONTROL not in plain.text
    assert not COLOUR.search(shown.text)
    lines = [line.rpartition("\r")[2] for line in plain.text.replace("\r\n", "\n").splitlines()]
    assert len(lines) > 1
    laid_out = [line for line in lines if line.startswith(("  ", " ─", "┃", "│", "├", "┏", "└"))]
    assert [line for line in laid_out if len(line.rstrip()) > 80] == []
