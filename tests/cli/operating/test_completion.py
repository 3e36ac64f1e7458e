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
"""Takes the words of a line, of which the last is completed; returns what the shell offers."""


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
    """Return the lines that a command prints; it must not complain."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.fixture(params=["bash", "fish"])
def ask(request: pytest.FixtureRequest, scripts: Path) -> Ask:
    """Return what completes a line by one of the shells."""
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
    """All of them, and those that begin as was typed."""
    assert set(COMMANDS) <= set(ask(""))
    assert sorted(ask("re")) == sorted(name for name in COMMANDS if name.startswith("re"))


def test_options_and_choices(ask: Ask) -> None:
    """Of the command that stands on the line, actions of a command too."""
    assert ask("audit", "--compo") == ["--compose"]
    assert set(ask("read", "")) >= {"releases", "ledger", "rejects", "heads"}
    assert "sequential" in ask("audit", "--compose", "")
    assert {"new", "list", "erase"} <= set(ask("keys", ""))


def test_files_and_folders(ask: Ask) -> None:
    """Where a path is wanted; folders alone where a folder is."""
    assert "ledger.jsonl" in ask("explain", "home-7", "1000", "--ledger", "led")
    assert [name.rstrip("/") for name in ask("replay", "--out", "led")] == ["ledgers"]


@pytest.mark.parametrize("name", SHELLS)
def test_scripts_are_sound(name: str, scripts: Path) -> None:
    """Each shell parses its script; zsh, which completes at a prompt only, does no more here."""
    assert run(scripts, programs.program(name), "-n", str(scripts / name)) == []


def test_an_unknown_shell(cli: Cli) -> None:
    """Exit code 2 with the shells that there are."""
    assert "zsh" in cli.ended("completion", "csh").err
