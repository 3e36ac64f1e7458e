"""The part of ``audit`` about one series: to write the proof that the heads name its last entry, and to check one."""

import argparse
import asyncio
from pathlib import Path
from typing import Final

from stream_app.audit.files import LONGEST_LINE, read_records
from stream_app.audit.finding import Finding
from stream_app.audit.form.reader import dump, proof_bytes, read_proof
from stream_app.audit.heads.publickey import PublicKeyError, read_public_keys
from stream_app.audit.heads.tree import Prover, check_proof
from stream_app.audit.report.report import line_of
from stream_app.audit.topic import TopicError, read_head_topic
from stream_app.cli import UsageError
from stream_app.cli.shared.configured import reaching, settings_of
from stream_app.files import unread, unwritten, whole
from stream_app.kafka.client.security import client_arguments
from stream_app.words.amount import quoted

_SIGNED: Final = "HOLDS: the signer named this entry; whether the promise was kept, `audit` of the ledger tells"


def prove(arguments: argparse.Namespace) -> int:
    """Write the proof; 0, or a `UsageError` when the heads do not name the series."""
    if arguments.heads is None or arguments.out is None:
        raise UsageError("--prove SERIES: give --heads [FILE], from which the proof is taken, and --out FILE for it")
    prover = Prover(arguments.prove)
    if arguments.heads is True:
        _read_topic(arguments, prover)
    else:
        _read_file(arguments.heads, prover)
    proof = prover.proof
    if proof is None:
        raise UsageError(
            f"--prove: the heads name no entry of series {arguments.prove!r}; is it spelt right, and signed?"
        )
    try:
        with whole(arguments.out) as beside:
            beside.write_bytes(proof_bytes(proof))
    except OSError as error:
        raise UsageError(f"--out {arguments.out}: {unwritten(error)}; name a file that can be written") from error
    head = proof.head
    print(f"{arguments.out}: head {head.number} of partition {head.partition} names entry {proof.leaf.sequence}")
    return 0


def check(arguments: argparse.Namespace) -> int:
    """Check a proof; 0 when it holds, 1 when not."""
    if arguments.ledger is None or not arguments.public_key:
        raise UsageError("--proof FILE: give --ledger FILE, which holds the entry, and --public-key FILE")
    try:
        keys = read_public_keys(arguments.public_key)
        proof = read_proof(arguments.proof.read_bytes())
        if isinstance(proof, str):
            raise UsageError(f"--proof {arguments.proof}: {proof}; `audit --prove` writes one")
        with arguments.ledger.open("rb") as ledger:
            lines = (line.rstrip(b"\r\n") for line in iter(lambda: ledger.readline(LONGEST_LINE), b""))
            findings = check_proof(proof, keys, lines)
    except PublicKeyError as error:
        raise UsageError(f"--public-key {error}") from error
    except OSError as error:
        raise UsageError(f"{error.filename}: {unread(error)}; name a file that can be read") from error
    if arguments.json:
        print(dump({"holds": not findings, "series": 1, "entries": 1, "findings": [*map(Finding._asdict, findings)]}))
    else:
        leaf, head = proof.leaf, proof.head
        print("\n".join(("DOES NOT HOLD" if findings else _SIGNED, *map(line_of, findings))))
        print(
            f"entry {leaf.sequence}; head {head.number} of partition {head.partition} of {quoted(head.topic)}, "
            f"key {head.key}"
        )
    return 1 if findings else 0


def _read_topic(arguments: argparse.Namespace, prover: Prover) -> None:
    settings = settings_of(arguments)
    with reaching(settings):
        try:
            asyncio.run(read_head_topic(client_arguments(settings), f"{settings.prefix}.heads", prover.record))
        except TopicError as error:
            raise UsageError(str(error)) from error


def _read_file(path: Path, prover: Prover) -> None:
    try:
        read_records(path, prover.record)
    except OSError as error:
        raise UsageError(f"{path}: {unread(error)}; name a file that can be read") from error
