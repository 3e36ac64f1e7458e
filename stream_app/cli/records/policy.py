"""``policy FILE``: check policy records, then send them to the events topic."""

import argparse
from pathlib import Path

from stream_app.cli import UsageError
from stream_app.cli.records.send import send_and_tell
from stream_app.cli.shared.arguments import add_config
from stream_app.cli.shared.policyfile import document_in, hindrances_of, weaker_of
from stream_app.formats import records, wire
from stream_app.privacy.policy import PolicyError, policy_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("file", type=Path, help="one policy record as JSON, or one a line")
    add_config(parser)
    parser.add_argument("--json", action="store_true", help="print the count as one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Send all policies; 0. Raises `UsageError`, with nothing sent, when one of them is no policy."""
    try:
        content = arguments.file.read_bytes()
    except OSError as error:
        raise UsageError(f"{arguments.file}: cannot be read ({error.strerror}); give a file of policies") from None
    lines = content.splitlines() if document_in(content) is None else [content]
    found: list[bytes] = []
    faults: list[str] = []
    documents: list[tuple[str, object]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        place = f"{arguments.file}:{number}"
        documents.append((place, document_in(line)))
        if hindrances := list(hindrances_of(document_in(line))):
            faults += [f"{place}: {hindrance}" for hindrance in hindrances]
            continue
        record = wire.decode(line)
        if not isinstance(record, records.PolicyRecord):
            wanted = 'type "policy", a series, and a version from 1 on'
            faults.append(f"{place}: no policy record; it needs {wanted}: landmark-stream check says more")
            continue
        try:
            policy_of(record.parameters, record.version)
        except PolicyError as error:
            faults += [f"{place}: {fault.member}: {fault.message}" for fault in error.faults]
        found.append(line)
    for weaker in weaker_of(documents):
        if weaker.certain and not weaker.marked:
            faults.append(f"{weaker.place}: {weaker.sentence}")
    if faults:
        raise UsageError("nothing sent\n" + "\n".join(faults))
    return send_and_tell(arguments, found)
