"""``audit``: check a ledger with a second implementation of its arithmetic; the first line is the verdict.

To write the page and the picture, and to compute the losses of series, the command reads the ledger again.
"""

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from heapq import nlargest
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from stream_app import __version__
from stream_app.accounting.laws import LAWS
from stream_app.audit import Auditor, Report
from stream_app.audit.answers import sections as answered
from stream_app.audit.answers.asked import Answers, answers_of, for_a_person
from stream_app.audit.books.guarantee import SeriesLoss
from stream_app.audit.form.reader import dump
from stream_app.audit.report.curve import Curve, Curves, Flow
from stream_app.audit.report.page import Section, flow, page, shares_left, shares_over_time, spends_over_time, worst
from stream_app.calendar.words import moment_in_words
from stream_app.cli import UsageError
from stream_app.cli.ledger.filesource import FileSource, add_config, add_lifetime, lifetime_of, reads_twice, settings_of
from stream_app.cli.ledger.headoptions import add_head_arguments, check, prove, trusted_keys
from stream_app.cli.shared.arguments import add_picture, check_ending, drawing, port, positive
from stream_app.cli.shared.terminal import say
from stream_app.files import whole
from stream_app.pictures import picture, prepare, svg

if TYPE_CHECKING:
    from stream_app.accounting.statement import Statement
    from stream_app.cli.ledger.losses import AccountingQuestion
    from stream_app.cli.ledger.topicsource import Following, TopicSource
    from stream_app.setup.settings import Settings

PORT = 9465
OPTIONS = "--html, --picture"
DRAWN = 10  # number of series drawn by default: those with the largest losses
RANKED = 20
SPREAD = 5  # least number of series for a plot of remaining shares
AT_NOTHING = (
    "At 0, regular steps are still published, each at a cost of at most the largest so far; new landmarks are not."
)
TALL = 4.0  # inches, for plots whose legend names series


class SecondLook(NamedTuple):
    """Results of the second reading: losses of all series, chosen curves, epsilon over time, and answers."""

    losses: list[SeriesLoss]
    curves: list[Curve]
    flow: Flow
    keys: answered.KeyTimes
    answers: Answers
    people: list[str]  # paragraphs for the persons whose series are drawn


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = (
        "Without files, the committed records of the ledger and releases topics are read. With --ledger, only the "
        "named files are read."
    )
    parser.add_argument("--ledger", type=Path, metavar="FILE", help="the ledger as JSON Lines, instead of the topic")
    releases_help = "the releases as JSON Lines, to compare with the ledger"
    parser.add_argument("--releases", type=Path, metavar="FILE", help=releases_help)
    parser.add_argument("--no-releases", action="store_true", help="read only the ledger's topic")
    add_lifetime(parser)
    add_head_arguments(parser)
    _add_drawing_arguments(parser)
    follow_help = (
        "keep auditing while workers run: log findings and count them in metrics at once, and report when a signal "
        "ends the audit"
    )
    parser.add_argument("--follow", action="store_true", help=follow_help)
    http_port_help = f"with --follow: port for the page, metrics and health (default: {PORT}; 0: any free port)"
    parser.add_argument("--http-port", type=port, default=PORT, metavar="PORT", help=http_port_help)
    add_config(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _add_drawing_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for the page, the picture and the accounting of losses."""
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a report with plots as one HTML page")
    plain_help = (
        "also answer in sentences: what is guaranteed to how many people, the budgets now and at the end, whose "
        "series they are, which keys were used, and what to tell a person"
    )
    parser.add_argument("--plain", action="store_true", help=plain_help)
    add_picture(parser, "draw the epsilon spent and the remaining budgets")
    series_help = f"show this series in detail; may be repeated (default: the {DRAWN} with the largest losses)"
    parser.add_argument("--series", action="append", metavar="ID", help=series_help)
    correlation_help = (
        "temporal loss under a correlation from a file of `correlate`, for all series, or with NAME for series whose "
        "policy names it"
    )
    parser.add_argument("--correlation", action="append", default=[], metavar="[NAME=]FILE", help=correlation_help)
    compose_help = f"compose losses by {', '.join(LAWS)}; may be repeated"
    parser.add_argument("--compose", action="append", default=[], metavar="LAW", choices=LAWS, help=compose_help)
    members_help = 'for parallel-members: the person of each series, {"series":"member"}'
    parser.add_argument("--members", type=Path, metavar="FILE", help=members_help)
    rate_help = "for discounted-..: how fast a step's weight falls with its age"
    parser.add_argument("--rate", type=float, metavar="X", help=rate_help)
    window_help = "for correlated: number of consecutive steps (default: %(default)s)"
    parser.add_argument("--window", type=positive, default=2, metavar="W", help=window_help)


def run(arguments: argparse.Namespace) -> int:
    """Audit the ledger; return 0 if it holds, 1 if there are findings, and 3 if it has no entries.

    Raises `UsageError` for unreadable input.
    """
    if arguments.prove is not None or arguments.proof is not None:
        return prove(arguments) if arguments.prove is not None else check(arguments)
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
    question = _question(arguments)
    report = auditor.finish(source.read(auditor) if following is None else following.run(auditor))
    document, text = report.document(), report.text()
    if reads_twice(arguments):
        seen = _look(arguments, auditor, source)
        statement = None if question is None else question.answer(seen.losses, seen.curves)
        _draw(arguments, report, seen, source, statement)
        if arguments.plain:
            asked = (seen.answers, seen.keys.listed(), seen.people)
            document["answers"] = answered.document_of(*asked, holds=not report.found)
            text = "\n".join([text, answered.text_of(*asked, holds=not report.found)])
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

    assert settings is not None, "they are omitted only for files"
    return TopicSource(arguments, settings)


def _following(
    arguments: argparse.Namespace, source: "FileSource | TopicSource", settings: "Settings | None"
) -> "Following | None":
    if not arguments.follow:
        return None
    if isinstance(source, FileSource):
        raise UsageError("--follow: a file does not grow; omit --ledger to follow the topics")
    from stream_app.cli.ledger.topicsource import Following  # noqa: PLC0415 - see `settings_of`

    assert settings is not None, "they are omitted only for files"
    return Following(source, settings, arguments.http_port)


def _question(arguments: argparse.Namespace) -> "AccountingQuestion | None":
    """Return the questions that the ledger's sums cannot answer, if any; raise `UsageError` if they are invalid."""
    if arguments.html is not None or arguments.picture is not None:
        with drawing(OPTIONS):
            prepare()
    if arguments.picture is not None:
        check_ending(arguments.picture)
    if not arguments.correlation and not arguments.compose:
        if arguments.members is not None or arguments.rate is not None:
            raise UsageError("--members, --rate: only --compose uses them; add --compose")
        return None
    from stream_app.cli.ledger.losses import question_of  # noqa: PLC0415 - numbers of many series need numpy, others do not

    return question_of(arguments)


def _look(arguments: argparse.Namespace, auditor: Auditor, source: "FileSource | TopicSource") -> SecondLook:
    """Read the ledger a second time; raise `UsageError` for requested series that are not in it."""
    losses = list(auditor.losses())
    chosen: Sequence[str] = arguments.series or [
        loss.series for loss in nlargest(DRAWN, losses, key=lambda loss: loss.total_nano)
    ]
    unknown = sorted(set(chosen) - {loss.series for loss in losses})
    if unknown:
        raise UsageError(f"--series: {unknown[0]!r} is not in the ledger; check its spelling")
    curves, flows, keys = Curves(chosen), Flow(), answered.KeyTimes()
    flowing, answering = arguments.html is not None, arguments.html is not None or arguments.plain

    def feed(lines: Sequence[bytes]) -> None:
        curves.entries(lines)
        if flowing:
            flows.entries(lines)
        if answering:
            keys.entries(lines)

    source.again(feed)
    rules, named = auditor.rules, set(chosen)
    answers = answers_of(auditor.followed(), rules.members, rules.lifetime_nano)
    told = (for_a_person(one, rules.members, rules.lifetime_nano) for one in auditor.followed() if one.name in named)
    return SecondLook(losses, curves.curves, flows, keys, answers, [text for text in told if text])


def _draw(
    arguments: argparse.Namespace,
    report: Report,
    seen: SecondLook,
    source: "FileSource | TopicSource",
    statement: "Statement | None",
) -> None:
    """Write the requested picture and page; raise `UsageError` if they cannot be drawn or written."""
    with drawing(OPTIONS):
        if arguments.picture is not None:
            drawn = f"{len(seen.curves)} of {len(seen.losses)} series"
            # The page omits the date of the audit, so the same ledger gives the same bytes.
            audited = f"Audited {datetime.now(UTC):%Y-%m-%d}{_dates(seen.curves)}"
            draws = (
                (
                    f"Epsilon spent by {drawn} (diamonds are landmarks)\n{audited}",
                    partial(spends_over_time, seen.curves),
                ),
                (f"Remaining budget of {drawn}\n{AT_NOTHING}", partial(shares_over_time, seen.curves)),
            )
            picture(arguments.picture, draws)
        if arguments.html is not None:
            asked = answered.sections_of(seen.answers, seen.keys.listed(), seen.people, holds=not report.found)
            sections = [*(asked if seen.losses else ()), *_sections(seen)]
            if statement is not None:
                from stream_app.accounting.statement import sections_of  # noqa: PLC0415 - see `_question`

                sections += sections_of(statement)
            with whole(arguments.html) as beside:
                beside.write_text(page(report, sections, _origin(arguments, source)), encoding="utf-8")


def _dates(curves: Sequence[Curve]) -> str:
    """Return the dates of the drawn data, or an empty text if there are none."""
    drawn = [curve.times_ms for curve in curves if curve.times_ms]
    if not drawn:
        return ""
    return f", data of {moment_in_words(min(map(min, drawn)))} to {moment_in_words(max(map(max, drawn)))}"


def _origin(arguments: argparse.Namespace, source: "FileSource | TopicSource") -> str:
    """Return what was audited, and by which version; the date is omitted so that equal ledgers give equal bytes."""
    ledger = f"ledger {arguments.ledger}" if source.topic is None else f"topic {source.topic}"
    releases = "" if arguments.releases is None else f", releases {arguments.releases}"
    return f"Audit of the {ledger}{releases}, by landmark-stream {__version__}"


def _sections(seen: SecondLook) -> list[Section]:
    if not seen.losses:
        return []
    drawn = f"{len(seen.curves)} of {len(seen.losses)} series{_dates(seen.curves)}"
    omitted = sum(curve.omitted for curve in seen.curves)
    if omitted:
        drawn += f", without their last {omitted} releases"
    ranked = nlargest(RANKED, seen.losses, key=lambda loss: loss.total_nano)  # worst first
    shares = (
        Section(
            "Share of the budget remaining, all series",
            f"At the end of the ledger, under the policy in force then. {AT_NOTHING}",
            svg(partial(shares_left, seen.losses)),
        ),
    )
    return [
        Section(
            "Worst series",
            "Largest losses of a series, summed over policy versions. At level landmark, the loss is the epsilon spent "
            "on all landmarks plus the largest cost of one other step.",
            svg(partial(worst, ranked), height=1.6 + 0.26 * len(ranked)),
        ),
        *(shares if len(seen.losses) >= SPREAD else ()),
        Section(
            "Share of the budget remaining, over time",
            f"{drawn}. {AT_NOTHING}",
            svg(partial(shares_over_time, seen.curves), height=TALL),
        ),
        Section(
            "Epsilon spent by each release",
            f"{drawn}. Diamonds are landmarks. Approximated and withheld releases spend nothing.",
            svg(partial(spends_over_time, seen.curves), height=TALL),
        ),
        Section(
            "Sum over all steps, over time",
            "Epsilon that the releases of all series spent together. It grows as long as anything is published, and "
            "no guarantee limits it.",
            svg(partial(flow, seen.flow)),
        ),
    ]
