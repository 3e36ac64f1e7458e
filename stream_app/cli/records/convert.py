"""``convert``: print a file's events under a mapping as JSON Lines, without processing them."""

import argparse
import sys

from stream_app.cli import UsageError
from stream_app.cli.shared.eventfile import EventFile, add_mapping
from stream_app.cli.shared.mapped import tell_file
from stream_app.cli.shared.terminal import tracked
from stream_app.mapping.members import shipped


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = (
        "The output contains raw values: protect it like the file. `replay` and `send` accept the same mapping, so "
        "most files need no conversion. Use `convert` to see what a mapping makes of a file."
    )
    add_mapping(parser, needed=False)
    parser.add_argument(
        "--mappings", action="store_true", help="list the mappings that come with the program, and exit"
    )


def run(arguments: argparse.Namespace) -> int:
    """Convert the file; return 0 once all events are printed.

    Raises `UsageError` for a file that does not fit its mapping.
    """
    if arguments.mappings:
        width = max(map(len, shipped()), default=0)
        for name, what in shipped().items():
            print(f"{name:{width}}  {what}")
        return 0
    if arguments.file is None:
        raise UsageError("FILE is missing; specify a file, or - for standard input")
    file = EventFile(arguments)
    out = sys.stdout.buffer
    # PRIVACY: raw values are output here, to the person who supplied them; the epilog says so, and nothing keeps them.
    for record in tracked(file, "convert", file.far):
        out.write(record + b"\n")
    out.flush()
    tell_file(file, "convert", events=True)
    return 0
