"""``explain SERIES TIMESTAMP``: explain the decision at a step from the ledger alone."""

import argparse
from pathlib import Path

from stream_app.audit.explain.explanation import Explanation
from stream_app.audit.explain.inquiry import Inquiry, UndecidedError
from stream_app.audit.explain.text import plain_of, text_of
from stream_app.audit.files import read_lines
from stream_app.audit.form.reader import dump
from stream_app.cli import UsageError
from stream_app.cli.ledger.filesource import reading
from stream_app.cli.shared.arguments import moment_of
from stream_app.cli.shared.terminal import progress, say
from stream_app.words.promise import wrapped


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = (
        "Without --ledger, the ledger's topic is read, and the releases' topic if the decision used a random draw."
    )
    parser.add_argument("series", metavar="SERIES", help="the id of the series")
    timestamp_help = "a time within the step: integer ms, or ISO 8601 with offset"
    parser.add_argument("timestamp", metavar="TIMESTAMP", help=timestamp_help)
    parser.add_argument("--ledger", type=Path, metavar="FILE", help="the ledger as JSON Lines, instead of the topic")
    releases_help = "the releases as JSON Lines, which give the rate of Adaptive"
    parser.add_argument("--releases", type=Path, metavar="FILE", help=releases_help)
    config_help = "configuration (default: landmark-stream.toml if it exists; unused with --ledger)"
    parser.add_argument("--config", type=Path, help=config_help)
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--plain", action="store_true", help="answer in sentences, without formulas")
    shown.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Print the explanation; return 0, or 1 if there are findings.

    Raises `UsageError` if the ledger has no decision for the step.
    """
    inquiry = Inquiry(arguments.series, moment_of("TIMESTAMP", arguments.timestamp))
    try:
        found = _from_files(arguments, inquiry) if arguments.ledger is not None else _from_topics(arguments, inquiry)
    except UndecidedError as error:
        raise UsageError(f"{error.series} at {error.timestamp}: {error}") from error
    if arguments.plain:
        print(wrapped(plain_of(found), indent=""))
    elif arguments.json:
        print(dump(found.document()))
    else:
        say(text_of(found))
    return 1 if found.findings else 0


def _from_files(arguments: argparse.Namespace, inquiry: Inquiry) -> Explanation:
    with reading(arguments.ledger), progress("explain") as shown:
        read_lines(arguments.ledger, inquiry.entries, shown)
        if inquiry.tosses and arguments.releases is not None:
            read_lines(arguments.releases, inquiry.releases, shown)
    return inquiry.answer()


def _from_topics(arguments: argparse.Namespace, inquiry: Inquiry) -> Explanation:
    # Importing a Kafka client takes seconds, and files do not need it.
    from stream_app.cli.ledger.topicsource import feed_topic  # noqa: PLC0415
    from stream_app.cli.shared.configured import settings_of  # noqa: PLC0415

    if arguments.releases is not None:
        raise UsageError("--releases FILE: add --ledger FILE; without files, both topics are read")
    settings = settings_of(arguments)
    feed_topic(settings, "ledger", inquiry.entries, "explain")
    if inquiry.tosses:
        feed_topic(settings, "releases", inquiry.releases, "explain")
    return inquiry.answer()
