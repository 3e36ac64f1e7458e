"""``policy FILE``: check policy records, then send them to the events topic."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from stream_app.cli import UsageError
from stream_app.cli.shared.answers import add_wait, send_and_tell, sent_and_answered
from stream_app.cli.shared.arguments import add_config
from stream_app.cli.shared.configured import settings_of
from stream_app.cli.shared.policyfile import Document, documents_in, hindrances_of, weaker_of
from stream_app.formats import records, wire
from stream_app.privacy.policy import PolicyError, policy_of
from stream_app.setup.configuration import NO_POLICY


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.add_argument("file", type=Path, help="one policy record as JSON, or one per line")
    add_wait(parser)
    add_config(parser)
    parser.add_argument("--json", action="store_true", help="print the count as one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Send all policies, or none if one is invalid, and return 0.

    With ``--wait``, return 1 if a policy is refused and 3 if one is unanswered.
    """
    documents = documents_in(arguments.file)
    found = _checked(arguments.file, documents)
    for document in documents:
        for warning in document.times.warnings():
            print(f"landmark-stream policy: {warning}", file=sys.stderr)
    if arguments.wait is not None:
        return sent_and_answered(settings_of(arguments), found, "policy", arguments.wait, as_json=arguments.json)
    return send_and_tell(arguments, found)


def _checked(file: Path, documents: Sequence[Document]) -> list[bytes]:
    if not documents:
        raise UsageError(f"{file}: {NO_POLICY}")
    found: list[bytes] = []
    faults: list[str] = []
    for document in documents:
        place = document.place
        if hindrances := [document.fault] if document.fault else list(hindrances_of(document.content)):
            faults += [f"{place}: {hindrance}" for hindrance in hindrances]
            continue
        faults += [f"{place}: {wrong.member}: {wrong.message}" for wrong in document.wrongs]
        if len(document.written) > wire.LARGEST_RECORD_BYTES:
            found_bytes = (
                f"found {len(document.written):,} bytes, but a record can have at most {wire.LARGEST_RECORD_BYTES:,}"
            )
            faults.append(f"{place}: {found_bytes}; list fewer landmarks, and add the rest with `landmarks`")
            continue
        record = wire.decode(document.written)
        if not isinstance(record, records.PolicyRecord):
            wanted = 'type "policy", a series, and a version of at least 1'
            faults.append(f"{place}: not a policy record; it needs {wanted}; run landmark-stream check for details")
            continue
        try:
            policy_of(record.parameters, record.version)
        except PolicyError as error:
            faults += [f"{place}: {fault.member}: {fault.message}" for fault in error.faults]
        found.append(document.written)
    for weaker in weaker_of(documents):
        if weaker.certain and not weaker.marked:
            faults.append(f"{weaker.place}: {weaker.sentence}")
    if faults:
        raise UsageError("nothing sent\n" + "\n".join(faults))
    return found
