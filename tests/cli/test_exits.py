"""Exit codes: what is said of them, in every help."""

import pytest

from stream_app.cli import COMMANDS
from stream_app.cli.exits import EXIT_CODES, OWN
from tests.command import Cli


@pytest.mark.parametrize("name", COMMANDS)
def test_help_ends_with_the_exit_codes(name: str, cli: Cli) -> None:
    """The last sentence of a command's help; what it says of itself stands in it."""
    helped = " ".join(cli.ended(name, "--help", code=0).out.split())
    assert helped.lower().count("exit code") == 1
    last = helped.partition("Exit codes: ")[2]
    assert last.startswith("0 ")
    for code, meaning in OWN.get(name, {}).items():
        assert f"{code} {meaning}" in last


def test_they_are_of_commands_and_known() -> None:
    """No meaning is kept for a command that is gone, or for a number that none returns."""
    assert {command.partition(" ")[0] for command in OWN} <= set(COMMANDS)
    assert {code for own in OWN.values() for code in own} <= set(EXIT_CODES)
