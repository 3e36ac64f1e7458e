"""``files``: where schemas, examples, dashboards, rules and docs of this installation are, for who reads them."""

import argparse

from stream_app.cli.shared.installed import IN_A_CHECKOUT, folder_of
from stream_app.formats import wire


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.epilog = "A shell completes commands and options with what `completion` prints."
    parser.add_argument("what", nargs="?", choices=tuple(IN_A_CHECKOUT), help="print the folder of one alone")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Print the folders; 0; raises `UsageError` where an installation was made without them."""
    folders = {name: str(folder_of(name)) for name in ([arguments.what] if arguments.what else IN_A_CHECKOUT)}
    if arguments.json:
        print(wire.dump(folders).decode())
    elif arguments.what:
        print(folders[arguments.what])
    else:
        print("\n".join(f"{name:10}  {folder}" for name, folder in folders.items()))
    return 0
