"""The part of ``audit`` about signed heads: its options, the trusted keys, and the files of heads and witness."""

import argparse
from pathlib import Path

from stream_app.audit import Auditor
from stream_app.audit.files import read_records
from stream_app.audit.heads.publickey import PublicKeyError, PublicKeys, read_public_keys
from stream_app.cli import UsageError
from stream_app.files import unread


def add_head_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options about heads and proofs."""
    parser.add_argument(
        "--heads",
        nargs="?",
        type=Path,
        const=True,
        metavar="FILE",
        help="check the signed heads, of their topic or a file: nothing before them was cut off or rewritten",
    )
    parser.add_argument(
        "--public-key",
        type=Path,
        action="append",
        metavar="FILE",
        help="whom to trust: a public key of the heads' signer, as `keys public` prints it (repeat it for older keys)",
    )
    parser.add_argument(
        "--witness",
        type=Path,
        metavar="FILE",
        help="heads kept elsewhere, as `read heads` prints them: all must be there",
    )
    parser.add_argument(
        "--prove", metavar="SERIES", help="only write the proof that the heads name a series' last entry"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="with --prove: the proof's file")
    parser.add_argument(
        "--proof", type=Path, metavar="FILE", help="only check a proof against --ledger, which may hold one entry alone"
    )


def trusted_keys(arguments: argparse.Namespace) -> PublicKeys | None:
    """Return the keys that heads are checked with, None without heads; raises `UsageError` for unfit options."""
    if arguments.heads is None:
        if arguments.public_key or arguments.witness:
            raise UsageError("--public-key, --witness: give --heads with them, which names what they are compared with")
        return None
    if arguments.heads is True and arguments.ledger is not None:
        raise UsageError("--heads: name their FILE too; without a file the topic is read, which needs no --ledger")
    if not arguments.public_key:
        raise UsageError("--heads: give --public-key FILE; whoever brings the heads must not be asked whom to trust")
    try:
        return read_public_keys(arguments.public_key)
    except PublicKeyError as error:
        raise UsageError(f"--public-key {error}") from error


def feed_head_files(arguments: argparse.Namespace, auditor: Auditor) -> None:
    """Feed the files of witness and heads; the witness first, so that it is never ahead of the heads."""
    if auditor.heads is None:
        return
    try:
        if arguments.witness is not None:
            read_records(arguments.witness, auditor.heads.witness)
        if arguments.heads is not True:
            read_records(arguments.heads, auditor.heads.record)
    except OSError as error:
        raise UsageError(f"{error.filename}: {unread(error)}; name a file that can be read") from error
