"""``completion``: its scripts, run by the shells themselves."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from stream_app.cli import COMMANDS, main
from stream_app.cli.operating.completion import SHELLS
from tests import programs
from tests.command import Cli

Ask = Callable[..., list[str]]
"""A function from the words of a line, whose last is completed, to the shell's suggestions."""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the script of each shell, and with files and a folder to complete."""
    folder = tmp_path_factory.mktemp("completion")
    for shell in SHELLS:
        with pytest.MonkeyPatch.context() as patch, (folder / shell).open("w") as file:
            patch.setattr("sys.stdout", file)
            assert main(["completion", shell]) == 0
    (folder / "ledger.jsonl").touch()
    (folder / "ledgers").mkdir()
    return folder


def run(folder: Path, *command: str) -> list[str]:
    """Return the lines that a command prints; it must not report errors."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.fixture(params=["bash", "fish"])
def ask(request: pytest.FixtureRequest, scripts: Path) -> Ask:
    """Return a function that completes a line in one of the shells."""
    shell = programs.program(request.param)

    def bash(*words: str) -> list[str]:
        program = (
            'source ./bash; COMP_WORDS=(landmark-stream "$@"); COMP_CWORD=$#; '
            '_shtab_landmark_stream; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        return run(scripts, shell, "--norc", "-c", program, "bash", *words)

    def fish(*words: str) -> list[str]:
        found = run(
            scripts, shell, "--no-config", "-c", f"source ./fish; complete -C 'landmark-stream {' '.join(words)}'"
        )
        return [line.partition("\t")[0] for line in found]

    return {"bash": bash, "fish": fish}[request.param]


def test_commands(ask: Ask) -> None:
    """All commands are offered, or those that start with what was typed."""
    assert set(COMMANDS) <= set(ask(""))
    assert sorted(ask("re")) == sorted(name for name in COMMANDS if name.startswith("re"))


def test_options_and_choices(ask: Ask) -> None:
    """They are those of the command on the line, including its actions."""
    assert ask("audit", "--compo") == ["--compose"]
    assert set(ask("read", "")) >= {"releases", "ledger", "rejects", "heads"}
    assert "sequential" in ask("audit", "--compose", "")
    assert {"new", "list", "erase"} <= set(ask("keys", ""))


def test_files_and_folders(ask: Ask) -> None:
    """Files and folders are offered for a path, and only folders for a folder."""
    assert "ledger.jsonl" in ask("explain", "home-7", "1000", "--ledger", "led")
    assert [name.rstrip("/") for name in ask("replay", "--out", "led")] == ["ledgers"]


@pytest.mark.parametrize("name", SHELLS)
def test_scripts_are_sound(name: str, scripts: Path) -> None:
    """Each shell parses its script; zsh completes only at a prompt, so it does no more here."""
    assert run(scripts, programs.program(name), "-n", str(scripts / name)) == []


def test_an_unknown_shell(cli: Cli) -> None:
    """The exit code is 2, and the message lists the available shells."""
    assert "zsh" in cli.ended("completion", "csh").err
