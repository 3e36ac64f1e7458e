"""``completion SHELL``: print a script that completes commands, options, their choices and file names."""

import argparse
from collections.abc import Iterator
from pathlib import Path

import shtab

from stream_app.cli import COMMANDS, parser_of

SHELLS = ("bash", "zsh", "fish")
FOLDERS = {"--out", "--folder", "--jars"}
"""Options that name folders unless their placeholder says otherwise; all other path options name files."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter  # commands to copy must not be wrapped
    parser.epilog = (
        "bash:  landmark-stream completion bash > ~/.local/share/bash-completion/completions/landmark-stream\n"
        "zsh:   landmark-stream completion zsh > DIR/_landmark-stream  (DIR in $fpath)\n"
        "fish:  landmark-stream completion fish > ~/.config/fish/completions/landmark-stream.fish"
    )
    parser.add_argument("shell", choices=SHELLS, help="whose script")


def run(arguments: argparse.Namespace) -> int:
    """Print the script and return 0."""
    # The script is static, so completion never starts Python; an updated program needs a new script.
    parser = parser_of(COMMANDS)
    for action in _actions(parser):
        if action.type is Path:
            folder = action.metavar is None and FOLDERS.intersection(action.option_strings)
            action.complete = shtab.DIRECTORY if folder else shtab.FILE  # type: ignore[attr-defined]  # shtab's mark
        elif action.choices is not None and not isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            action.choices = tuple(action.choices)  # shtab would read a mapping as commands
    print(shtab.complete(parser, arguments.shell))
    return 0


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:  # noqa: SLF001 - argparse offers no other way to look at what was declared
        yield action
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for inner in dict.fromkeys(action.choices.values()):
                yield from _actions(inner)
