"""``keys new|list|erase``: make, show and ratchet noise keys; a secret is never printed."""

import argparse
from pathlib import Path

from rich.prompt import Confirm

from stream_app import keyfile, wire
from stream_app.cli import UsageError
from stream_app.privacy.key import KeyRing

HELP = "make, list and erase noise keys"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    new = actions.add_parser("new", help="write a new key file, mode 0600; never overwrites")
    new.add_argument("file", type=Path)
    show = actions.add_parser("list", help="show fingerprint and first epoch of key files")
    show.add_argument("file", type=Path, nargs="+")
    erase = actions.add_parser("erase", help="destroy the keys of old epochs for ever")
    erase.add_argument("file", type=Path)
    erase.add_argument("--before", type=int, required=True, metavar="EPOCH", help="first epoch to keep")
    erase.add_argument("--epoch-ms", type=int, required=True, help="the configured key_epoch_ms")
    erase.add_argument(
        "--settled", action="store_true", help="say that every worker is stopped and no partition has a ledger tail"
    )
    for action in (new, show, erase):
        action.add_argument("--json", action="store_true", help="print one JSON object a key")


def run(arguments: argparse.Namespace) -> int:
    """Do the action; exit code 2 when a key file cannot be used."""
    try:
        if arguments.action == "new":
            rings = {arguments.file: keyfile.create(arguments.file)}
        elif arguments.action == "list":
            rings = {path: keyfile.load(path) for path in arguments.file}
        else:
            rings = {arguments.file: _erase(arguments)}
    except keyfile.KeyFileError as error:
        raise UsageError(str(error)) from None
    for path, ring in rings.items():
        if arguments.json:
            found = {"file": str(path), "fingerprint": ring.fingerprint, "first_epoch": ring.first_epoch}
            print(wire.dump(found).decode())
        else:
            print(f"{path}: key {ring.fingerprint}, first epoch {ring.first_epoch}")
    return 0


def _erase(arguments: argparse.Namespace) -> KeyRing:
    # A worker that replays a tail needs the keys of the tail's events, or its partition stops for good.
    question = "Are all workers stopped, and did each partition end without a ledger tail? Erasing cannot be undone."
    if not arguments.settled and not _confirmed(question):
        raise UsageError("nothing erased; stop the workers, then say --settled")
    return keyfile.erase_before(arguments.file, arguments.before, arguments.epoch_ms)


def _confirmed(question: str) -> bool:
    """Ask at the terminal; where nobody answers, the answer is no."""
    try:
        return Confirm.ask(question, default=False)
    except EOFError:
        return False
