"""``standing SERIES or MEMBER``: report the guaranteed, used, reserved and remaining budget.

It needs only the ledger.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from stream_app.audit import Auditor
from stream_app.audit.answers.sections import plain_of
from stream_app.audit.files import Feed, read_lines
from stream_app.audit.form.reader import dump
from stream_app.audit.standing.inquiry import StandingInquiry, UnknownNameError
from stream_app.audit.standing.standing import MemberStanding
from stream_app.audit.standing.text import table_of, text_of
from stream_app.cli import mendable
from stream_app.cli.ledger.filesource import add_config, add_lifetime, lifetime_of, reading, settings_of
from stream_app.cli.shared.terminal import progress
from stream_app.words.promise import wrapped

if TYPE_CHECKING:
    from stream_app.setup.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = (
        "A person (member) is identified by the common prefix of several series ids, up to the separator. The "
        "ledger's limits per person show the separator; otherwise `member_separator` in the configuration sets it. "
        "Without --ledger, the ledger's topic is read. Amounts are in epsilon, or with --json in nano-epsilon."
    )
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument("name", metavar="NAME", nargs="?", help="the id of a series or a person")
    asked.add_argument(
        "--members",
        action="store_true",
        help=("list all people: limit, epsilon reserved by their series, epsilon that new series may reserve"),
    )
    parser.add_argument("--ledger", type=Path, metavar="FILE", help="the ledger as JSON Lines, instead of the topic")
    add_lifetime(parser)
    add_config(parser)
    shown = parser.add_mutually_exclusive_group()
    plain_help = "answer in sentences: what is guaranteed, and a paragraph for the person"
    shown.add_argument("--plain", action="store_true", help=plain_help)
    shown.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Print the budget report; return 0, or 1 if there are findings.

    Raises `UsageError` for a name that is not in the ledger.
    """
    settings = settings_of(arguments)
    if arguments.members:
        return _list(arguments, settings)
    separator = "" if settings is None else getattr(settings, "member_separator", None) or ""
    inquiry = StandingInquiry(arguments.name, lifetime_of(arguments, settings), separator)
    _read(arguments, settings, inquiry.entries)
    with mendable(UnknownNameError, by=f"{arguments.name}: "):
        found = inquiry.answer()
    if arguments.plain:
        print("\n\n".join(f"{title}\n{wrapped(paragraph)}" for title, paragraph in plain_of(inquiry)))
    else:
        print(dump(found.document()) if arguments.json else text_of(found))
    return 1 if found.findings else 0


def _list(arguments: argparse.Namespace, settings: "Settings | None") -> int:
    """Print all persons, starting with the largest reserved share; return 1 if the audit has findings."""
    auditor = Auditor(lifetime_nano=lifetime_of(arguments, settings))
    _read(arguments, settings, auditor.entries)
    report = auditor.finish()
    members = [
        MemberStanding(name, member.cap_nano, member.claims_nano, member.series)
        for name, member in auditor.rules.members.known.items()
        if member.series or member.cap_nano is not None
    ]
    members.sort(key=lambda one: (one.cap_nano is None, -one.share, one.member))
    if arguments.json:
        print(dump({"holds": not report.found, "members": [one.document() for one in members]}))
    else:
        if report.found:
            print(f"{report.verdict}; `audit` lists all findings")
        print(table_of(members) if members else "the ledger has no limit per person, so it names no people")
    return 1 if report.found else 0


def _read(arguments: argparse.Namespace, settings: "Settings | None", feed: Feed) -> None:
    if arguments.ledger is None:
        from stream_app.cli.ledger.topicsource import feed_topic  # noqa: PLC0415 - see `settings_of`

        assert settings is not None, "they are omitted only for files"
        feed_topic(settings, "ledger", feed, "standing")
        return
    with reading(arguments.ledger, f"--ledger {arguments.ledger}"), progress("standing") as shown:
        read_lines(arguments.ledger, feed, shown)
