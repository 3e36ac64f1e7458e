"""The part of ``audit`` that reads the ledger a second time: for its page, its picture, and what series lost."""

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime
from heapq import nlargest
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from stream_app import __version__
from stream_app.accounting.law import LAWS
from stream_app.audit import Auditor, Report
from stream_app.audit.answers.asked import Answers, answers_of, for_a_person
from stream_app.audit.answers.sections import KeyTimes
from stream_app.audit.answers.sections import sections_of as sections_of_answers
from stream_app.audit.books.guarantee import SeriesLoss
from stream_app.audit.report.curve import Curve, Curves
from stream_app.audit.report.flow import Flow
from stream_app.audit.report.page import Section, page
from stream_app.audit.report.plots import flow, shares_left, shares_over_time, spends_over_time, worst
from stream_app.calendar.words import moment_in_words
from stream_app.cli import UsageError
from stream_app.cli.ledger.filesource import FileSource
from stream_app.cli.shared.arguments import positive
from stream_app.cli.shared.picturefile import add_picture, check_ending, drawing
from stream_app.files import whole
from stream_app.pictures import picture, prepare, svg

if TYPE_CHECKING:
    from stream_app.accounting.statement import Statement
    from stream_app.cli.ledger.losses import AccountingQuestion
    from stream_app.cli.ledger.topicsource import TopicSource

OPTIONS = "--html, --picture"
DRAWN = 10  # series drawn: those that lost most, unless others are named
RANKED = 20
SPREAD = 5  # least number of series for a plot of how many have what share left
AT_NOTHING = "At 0 regular steps still publish, each up to the dearest so far; new landmarks cannot."
TALL = 4.0  # inches, for plots whose legend names series


class SecondLook(NamedTuple):
    """What the second reading found: budgets of all series, curves of the chosen ones, spends over time, answers."""

    losses: list[SeriesLoss]
    curves: list[Curve]
    flow: Flow
    keys: KeyTimes
    answers: Answers
    people: list[str]  # what may be told to the persons whose series the curves are

    @property
    def ranked(self) -> list[SeriesLoss]:
        """The series that lost most, worst first."""
        return nlargest(RANKED, self.losses, key=lambda loss: loss.total_nano)


def add_drawing_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the page, the picture and the accounting of losses."""
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a report with plots as one page")
    parser.add_argument(
        "--plain",
        action="store_true",
        help="answer in words, too: what was promised to how many, how it stands and ends, whose series, which keys, "
        "and what to tell the person",
    )
    add_picture(parser, "draw spends and what is left of the budgets")
    parser.add_argument(
        "--series",
        action="append",
        metavar="ID",
        help=f"look closer at this series; repeat it for more (default: the {DRAWN} that lost most)",
    )
    parser.add_argument(
        "--correlation",
        action="append",
        default=[],
        metavar="[NAME=]FILE",
        help="temporal loss of these series under a correlation, as `correlate` writes it; with NAME, of those whose "
        "policy names it so",
    )
    parser.add_argument(
        "--compose",
        action="append",
        default=[],
        metavar="LAW",
        choices=LAWS,
        help=f"put losses together by {', '.join(LAWS)}; repeat it for more",
    )
    parser.add_argument(
        "--members", type=Path, metavar="FILE", help='for parallel-members: whose series is whose, {"series":"member"}'
    )
    parser.add_argument(
        "--rate", type=float, metavar="X", help="for discounted-..: by how much a step's weight falls with its age"
    )
    parser.add_argument(
        "--window", type=positive, default=2, metavar="W", help="for correlated: steps in a row (default: %(default)s)"
    )


def question_in(arguments: argparse.Namespace) -> "AccountingQuestion | None":
    """Return what is asked beyond the ledger's own sums, None for nothing; raises `UsageError` for unfit options."""
    if arguments.html is not None or arguments.picture is not None:
        with drawing(OPTIONS):
            prepare()
    if arguments.picture is not None:
        check_ending(arguments.picture)
    if not arguments.correlation and not arguments.compose:
        if arguments.members is not None or arguments.rate is not None:
            raise UsageError("--members, --rate: give --compose with them, which uses them")
        return None
    from stream_app.cli.ledger.losses import question_of  # noqa: PLC0415 - numbers of many series need numpy, others do not

    return question_of(arguments)


def look(arguments: argparse.Namespace, auditor: Auditor, source: "FileSource | TopicSource") -> SecondLook:
    """Read the ledger once more; raises `UsageError` for series that are not in it."""
    losses = list(auditor.losses())
    chosen: Sequence[str] = arguments.series or [
        loss.series for loss in nlargest(DRAWN, losses, key=lambda loss: loss.total_nano)
    ]
    unknown = sorted(set(chosen) - {loss.series for loss in losses})
    if unknown:
        raise UsageError(f"--series: {unknown[0]!r} is not in the ledger; is it spelt right?")
    curves, flows, keys = Curves(chosen), Flow(), KeyTimes()
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


def draw(
    arguments: argparse.Namespace,
    report: Report,
    seen: SecondLook,
    source: "FileSource | TopicSource",
    statement: "Statement | None",
) -> None:
    """Write the picture and the page that are asked for; raises `UsageError` when they cannot be drawn or written."""
    with drawing(OPTIONS):
        if arguments.picture is not None:
            drawn = f"{len(seen.curves)} of {len(seen.losses)} series"
            # The page has no day of the audit: the same ledger gives the same bytes.
            audited = f"Audited {datetime.now(UTC):%Y-%m-%d}{_dates(seen.curves)}"
            draws = (
                (f"Spends of {drawn} (diamonds are landmarks)\n{audited}", spends_over_time(seen.curves)),
                (f"Budget left of {drawn}\n{AT_NOTHING}", shares_over_time(seen.curves)),
            )
            picture(arguments.picture, draws)
        if arguments.html is not None:
            answered = sections_of_answers(seen.answers, seen.keys.listed(), seen.people, holds=not report.found)
            sections = [*(answered if seen.losses else ()), *_sections(seen)]
            if statement is not None:
                from stream_app.accounting.statement import sections_of  # noqa: PLC0415 - see `question_in`

                sections += sections_of(statement)
            with whole(arguments.html) as beside:
                beside.write_text(page(report, sections, _origin(arguments, source)), encoding="utf-8")


def _dates(curves: Sequence[Curve]) -> str:
    """Return the dates of the data that are drawn; empty where there are none."""
    drawn = [curve.times_ms for curve in curves if curve.times_ms]
    if not drawn:
        return ""
    return f", data of {moment_in_words(min(map(min, drawn)))} to {moment_in_words(max(map(max, drawn)))}"


def _origin(arguments: argparse.Namespace, source: "FileSource | TopicSource") -> str:
    """Return what was audited and by what; without the date, so that the same ledger gives the same bytes."""
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
    ranked = seen.ranked
    shares = (
        Section(
            "Share of the budget left, all series",
            f"When the ledger ends, under the policy then in force. {AT_NOTHING}",
            svg(shares_left(seen.losses)),
        ),
    )
    return [
        Section(
            "Worst series",
            "Loss of the series that lost most: everything spent on landmarks, and the largest spend on one other "
            "step, summed over policy versions.",
            svg(worst(ranked), height=1.6 + 0.26 * len(ranked)),
        ),
        *(shares if len(seen.losses) >= SPREAD else ()),
        Section(
            "Share of the budget left, over time",
            f"{drawn}. {AT_NOTHING}",
            svg(shares_over_time(seen.curves), height=TALL),
        ),
        Section(
            "Spends, release by release",
            f"{drawn}. Diamonds are landmarks. Approximated and withheld releases spend nothing.",
            svg(spends_over_time(seen.curves), height=TALL),
        ),
        Section(
            "Sum over all steps, by time",
            "What the releases of all series spent together: it grows as long as anything is published, and no promise "
            "is about it.",
            svg(flow(seen.flow)),
        ),
    ]
