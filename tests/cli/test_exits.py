"""Exit codes: their descriptions in every help text."""

import pytest

from stream_app.cli import COMMANDS
from stream_app.cli.exits import EXIT_CODES, OWN
from tests.command import Cli


@pytest.mark.parametrize("name", COMMANDS)
def test_help_ends_with_the_exit_codes(name: str, cli: Cli) -> None:
    """They are the last sentence of a command's help, which includes the command's own codes."""
    helped = " ".join(cli.ended(name, "--help", code=0).out.split())
    assert helped.lower().count("exit code") == 1
    last = helped.partition("Exit codes: ")[2]
    assert last.startswith("0 ")
    for code, meaning in OWN.get(name, {}).items():
        assert f"{code} {meaning}" in last


def test_they_are_of_commands_and_known() -> None:
    """No meaning is kept for a removed command or for a number that no command returns."""
    assert {command.partition(" ")[0] for command in OWN} <= set(COMMANDS)
    assert {code for own in OWN.values() for code in own} <= set(EXIT_CODES)
