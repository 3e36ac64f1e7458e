"""The part of ``audit`` for signed checkpoints: options, trusted keys, files, and proofs of an entry."""

import argparse
import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stream_app.audit import Auditor
from stream_app.audit.files import LONGEST_LINE, read_records
from stream_app.audit.finding import Finding
from stream_app.audit.form.reader import dump, proof_bytes, read_proof
from stream_app.audit.heads.publickey import PublicKeyError, PublicKeys, read_public_keys
from stream_app.audit.heads.tree import Prover, check_proof
from stream_app.audit.report.report import line_of
from stream_app.cli import UsageError, mendable
from stream_app.cli.shared.arguments import readable, writable
from stream_app.files import whole
from stream_app.words.amount import quoted

if TYPE_CHECKING:
    from stream_app.setup.settings import Settings


def add_head_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for signed checkpoints and proofs."""
    heads_help = (
        "check the signed checkpoints (heads), from their topic or a file, to verify that nothing before them was cut "
        "off or rewritten"
    )
    parser.add_argument("--heads", nargs="?", type=Path, const=True, metavar="FILE", help=heads_help)
    public_key_help = (
        "the public key of the signer that you trust, as `keys public` prints it; may be repeated for older keys"
    )
    parser.add_argument("--public-key", type=Path, action="append", metavar="FILE", help=public_key_help)
    witness_help = "signed checkpoints kept elsewhere, as `read heads` prints them; all of them must be among the heads"
    parser.add_argument("--witness", type=Path, metavar="FILE", help=witness_help)
    prove_help = "only write a proof that the signed checkpoints include a series' last entry"
    parser.add_argument("--prove", metavar="SERIES", help=prove_help)
    parser.add_argument("--out", type=Path, metavar="FILE", help="with --prove: the file for the proof")
    proof_help = "only check a proof against --ledger, which needs to contain only the proven entry"
    parser.add_argument("--proof", type=Path, metavar="FILE", help=proof_help)


def trusted_keys(arguments: argparse.Namespace) -> PublicKeys | None:
    """Return the keys that verify the checkpoints, or None if ``--heads`` is not given.

    Raises `UsageError` for invalid options.
    """
    if arguments.heads is None:
        if arguments.public_key or arguments.witness:
            raise UsageError("--public-key, --witness: add --heads, the checkpoints to compare them with")
        return None
    if arguments.heads is True and arguments.ledger is not None:
        raise UsageError("--heads: add its FILE too, because --ledger is a file; without --ledger both topics are read")
    if not arguments.public_key:
        raise UsageError("--heads: add --public-key FILE; the checkpoints cannot tell you which signer to trust")
    return _keys(arguments.public_key)


def _keys(paths: list[Path]) -> PublicKeys:
    with mendable(PublicKeyError, by="--public-key "):
        return read_public_keys(paths)


def feed_head_files(arguments: argparse.Namespace, auditor: Auditor) -> None:
    """Read the witness file before the checkpoints, so that the witness is never newer than the checkpoints."""
    if auditor.heads is None:
        return
    with readable():
        if arguments.witness is not None:
            read_records(arguments.witness, auditor.heads.witness)
        if arguments.heads is not True:
            read_records(arguments.heads, auditor.heads.record)


def feed_heads(settings: "Settings", feed: Callable[[bytes, int], None]) -> None:
    """Pass all committed checkpoints in the topic to ``feed``; raise `UsageError` on failure."""
    # Importing a Kafka client takes seconds, and files do not need it.
    from stream_app.audit.topic import read_head_topic  # noqa: PLC0415
    from stream_app.cli.shared.configured import reaching  # noqa: PLC0415
    from stream_app.kafka.client.security import client_arguments  # noqa: PLC0415

    with reaching(settings):
        asyncio.run(read_head_topic(client_arguments(settings), f"{settings.prefix}.heads", feed))


_SIGNED: Final = "HOLDS: the signed checkpoint includes this entry; `audit` of the ledger checks the guarantee"


def prove(arguments: argparse.Namespace) -> int:
    """Write the proof and return 0; raise `UsageError` if the checkpoints do not name the series."""
    if arguments.heads is None or arguments.out is None:
        raise UsageError(
            "--prove SERIES: add --heads [FILE], from which the proof is taken, and --out FILE for the proof"
        )
    prover = Prover(arguments.prove)
    if arguments.heads is True:
        from stream_app.cli.shared.configured import settings_of  # noqa: PLC0415 - as above

        feed_heads(settings_of(arguments), prover.record)
    else:
        with readable():
            read_records(arguments.heads, prover.record)
    proof = prover.proof
    if proof is None:
        raise UsageError(
            f"--prove: the signed checkpoints have no entry for series {arguments.prove!r}; check the series name for "
            "spelling, and check its checkpoints"
        )
    with writable(f"--out {arguments.out}"), whole(arguments.out) as beside:
        beside.write_bytes(proof_bytes(proof))
    head = proof.head
    print(
        f"{arguments.out}: signed checkpoint {head.number} of partition {head.partition} includes entry "
        f"{proof.leaf.sequence}"
    )
    return 0


def check(arguments: argparse.Namespace) -> int:
    """Check a proof; return 0 if it holds and 1 if it does not."""
    if arguments.ledger is None or not arguments.public_key:
        raise UsageError("--proof FILE: add --ledger FILE, which contains the entry, and --public-key FILE")
    keys = _keys(arguments.public_key)
    with readable():
        proof = read_proof(arguments.proof.read_bytes())
        if isinstance(proof, str):
            raise UsageError(f"--proof {arguments.proof}: {proof}; create a proof with `audit --prove`")
        with arguments.ledger.open("rb") as ledger:
            lines = (line.rstrip(b"\r\n") for line in iter(lambda: ledger.readline(LONGEST_LINE), b""))
            findings = check_proof(proof, keys, lines)
    if arguments.json:
        print(dump({"holds": not findings, "series": 1, "entries": 1, "findings": [*map(Finding._asdict, findings)]}))
    else:
        leaf, head = proof.leaf, proof.head
        print("\n".join(("DOES NOT HOLD" if findings else _SIGNED, *map(line_of, findings))))
        print(
            f"entry {leaf.sequence}; signed checkpoint {head.number} of partition {head.partition} of "
            f"{quoted(head.topic)}, key {head.key}"
        )
    return 1 if findings else 0
