"""``audit``: check a ledger by a second implementation of its arithmetic; the verdict stands in the first line."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from stream_app.audit import Auditor
from stream_app.audit.answers.text import document_of, text_of
from stream_app.audit.form.reader import dump
from stream_app.cli import UsageError
from stream_app.cli.ledger.drawing import add_drawing_arguments, draw, look, question_in
from stream_app.cli.ledger.filesource import FileSource, reads_twice
from stream_app.cli.ledger.following import Following, add_following_arguments
from stream_app.cli.ledger.headoptions import add_head_arguments, trusted_keys
from stream_app.cli.ledger.lifetime import add_lifetime, lifetime_of, settings_of
from stream_app.cli.shared.terminal import say

if TYPE_CHECKING:
    from stream_app.cli.ledger.topicsource import TopicSource
    from stream_app.setup.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.epilog = (
        "Without files the ledger and releases topics are read as far as they were committed; with --ledger nothing "
        "but the named files is needed or looked at."
    )
    parser.add_argument("--ledger", type=Path, metavar="FILE", help="the ledger as JSON Lines, instead of its topic")
    parser.add_argument("--releases", type=Path, metavar="FILE", help="the releases as JSON Lines, compared with it")
    parser.add_argument("--no-releases", action="store_true", help="from the topics: read the ledger alone")
    add_lifetime(parser)
    add_head_arguments(parser)
    add_drawing_arguments(parser)
    add_following_arguments(parser)
    parser.add_argument(
        "--config", type=Path, help="configuration file (default: landmark-stream.toml if there; with --ledger none)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Audit; 0 when the ledger holds, 1 with findings, 3 without entries; raises `UsageError` for unreadable input."""
    if arguments.prove is not None or arguments.proof is not None:
        from stream_app.cli.ledger import proofs  # noqa: PLC0415 - see `settings_of`

        return proofs.prove(arguments) if arguments.prove is not None else proofs.check(arguments)
    settings = settings_of(arguments)
    source = _source(arguments, settings)
    following = _following(arguments, source, settings)
    auditor = Auditor(
        compare=source.has_releases,
        lifetime_nano=lifetime_of(arguments, settings),
        keys=trusted_keys(arguments),
        topic=source.topic,
        live=None if following is None else following.tell,
        aside=None if following is None else following.remark,
    )
    question = question_in(arguments)
    report = auditor.finish(source.read(auditor) if following is None else following.run(auditor))
    document, text = report.document(), report.text()
    if reads_twice(arguments):
        seen = look(arguments, auditor, source)
        statement = None if question is None else question.answer(seen.losses, seen.curves)
        draw(arguments, report, seen, source, statement)
        if arguments.plain:
            asked = (seen.answers, seen.keys.listed(), seen.people)
            document["answers"] = document_of(*asked, holds=not report.found)
            text = "\n".join([text, text_of(*asked, holds=not report.found)])
        if statement is not None:
            document |= statement.document()
            text = "\n".join([text, *statement.lines()])
    if arguments.json:
        print(dump(document))
    else:
        say(text)
    return 0 if report.holds else 1 if report.audited else 3


def _source(arguments: argparse.Namespace, settings: "Settings | None") -> "FileSource | TopicSource":
    if arguments.ledger is not None:
        return FileSource(arguments)
    from stream_app.cli.ledger.topicsource import TopicSource  # noqa: PLC0415 - see `settings_of`

    assert settings is not None, "they are only left away for files"
    return TopicSource(arguments, settings)


def _following(
    arguments: argparse.Namespace, source: "FileSource | TopicSource", settings: "Settings | None"
) -> Following | None:
    if not arguments.follow:
        return None
    if isinstance(source, FileSource):
        raise UsageError("--follow: a file does not go on; leave --ledger away to follow the topics")
    assert settings is not None, "they are only left away for files"
    return Following(source, settings, arguments.http_port)
