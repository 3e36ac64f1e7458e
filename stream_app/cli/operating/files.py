"""``files``: print where this installation's schemas, examples, dashboards, rules and docs are."""

import argparse
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import stream_app
from stream_app.cli import UsageError
from stream_app.formats import wire

IN_A_CHECKOUT = {
    "schemas": "schemas",
    "examples": "examples",
    "grafana": "deploy/grafana/dashboards",
    "prometheus": "deploy/prometheus",
    "docs": "docs",
}
"""Folders of a checkout, keyed by their names below share/landmark-stream in a wheel (pyproject.toml)."""


def folder_of(name: str) -> Path:
    """Return the path of a folder; raise `UsageError` if the installation does not contain it."""
    checkout = Path(stream_app.__file__).parents[1] / IN_A_CHECKOUT[name]
    if checkout.is_dir():
        return checkout
    try:
        installed = files("landmark-stream") or ()
    except PackageNotFoundError:
        installed = ()
    found = (
        Path(file.locate()).resolve().parent for file in installed if file.parts[-3:-1] == ("landmark-stream", name)
    )
    folder = next(found, None)
    if folder is None or not folder.is_dir():
        raise UsageError(f"{name}: not in this installation; install the wheel, or use a checkout")
    return folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = "For shell completion of commands and options, see `completion`."
    parser.add_argument("what", nargs="?", choices=tuple(IN_A_CHECKOUT), help="print only this folder")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Print the folders and return 0; raise `UsageError` if the installation lacks one."""
    folders = {name: str(folder_of(name)) for name in ([arguments.what] if arguments.what else IN_A_CHECKOUT)}
    if arguments.json:
        print(wire.dump(folders).decode())
    elif arguments.what:
        print(folders[arguments.what])
    else:
        print("\n".join(f"{name:10}  {folder}" for name, folder in folders.items()))
    return 0
