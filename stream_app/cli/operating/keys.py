"""``keys new|list|public|erase``: make and show keys, erase old epochs; a secret is never printed."""

import argparse
from pathlib import Path

from stream_app.cli import UsageError
from stream_app.cli.operating import erasing
from stream_app.formats import wire
from stream_app.heads.signing import SigningKey, is_signing_key
from stream_app.privacy.noise.key import KeyRing
from stream_app.setup import keyfile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    new = actions.add_parser("new", help="write a new key file, mode 0600; never overwrites")
    new.add_argument("file", type=Path, help="where the new key file is written")
    new.add_argument("--signing", action="store_true", help="a key that signs the ledger's heads, not a noise key")
    show = actions.add_parser("list", help="show what key files hold: fingerprint, first epoch of a noise key")
    show.add_argument("file", type=Path, nargs="+", help="key files")
    public = actions.add_parser("public", help="print the public key of a signing key, which auditors need")
    public.add_argument("file", type=Path, help="a signing key file")
    erase = actions.add_parser("erase", help=erasing.HELP)
    erase.add_argument("file", type=Path, help="the noise key file, which is replaced")
    erasing.add_erasing_arguments(erase)
    for action in (new, show, public, erase):
        action.add_argument("--json", action="store_true", help="print one JSON object a key")


def run(arguments: argparse.Namespace) -> int:
    """Do the action; exit code 1 when erasing is refused, 2 when a key file cannot be used."""
    try:
        match arguments.action:
            case "new":
                create = SigningKey.create if arguments.signing else keyfile.create
                _show(arguments, arguments.file, create(arguments.file))
            case "list":
                keys = {path: _load(path) for path in arguments.file}
                for path, key in keys.items():
                    _show(arguments, path, key)
            case "public":
                _publish(arguments, SigningKey.load(arguments.file))
            case _:
                return erasing.erase(arguments)
    except keyfile.KeyFileError as error:
        raise UsageError(str(error)) from None
    return 0


def _load(path: Path) -> KeyRing | SigningKey:
    return SigningKey.load(path) if is_signing_key(path) else keyfile.load(path)


def _show(arguments: argparse.Namespace, path: Path, key: KeyRing | SigningKey) -> None:
    if isinstance(key, SigningKey):
        found: dict[str, object] = {"file": str(path), "fingerprint": key.fingerprint, "signs": "heads"}
        text = f"{path}: signing key {key.fingerprint}"
    else:
        found = {"file": str(path), "fingerprint": key.fingerprint, "first_epoch": key.first_epoch}
        text = f"{path}: key {key.fingerprint}, first epoch {key.first_epoch}"
    print(wire.dump(found).decode() if arguments.json else text)


def _publish(arguments: argparse.Namespace, key: SigningKey) -> None:
    found = {"file": str(arguments.file), "fingerprint": key.fingerprint, "public": key.public_pem()}
    print(wire.dump(found).decode() if arguments.json else key.public_pem(), end="\n" if arguments.json else "")
