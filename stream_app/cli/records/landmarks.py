"""``landmarks SERIES``: register landmarks late, as people say them, and wait for the answer of the worker."""

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any

from stream_app.calendar.landmarks import Span, spans_of
from stream_app.calendar.localtime import zone_of
from stream_app.calendar.words import duration_in_words, moment_as_seconds, moment_in_words
from stream_app.calendar.wrong import WrongTimesError
from stream_app.cli import UsageError
from stream_app.cli.shared.answers import answered
from stream_app.cli.shared.arguments import INTEGER, add_config
from stream_app.cli.shared.configured import settings_of
from stream_app.cli.shared.eventfile import record_key
from stream_app.formats import records, wire
from stream_app.kafka.client.answer import WorkersAnswer
from stream_app.kafka.client.sending import Event
from stream_app.manual import page_at
from stream_app.privacy.reason import REASONS
from stream_app.privacy.values import NANO

WAIT_SECONDS = 60.0
NO_ANSWER = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.epilog = (
        "TIME is integer ms, a moment (2026-03-29T17:00+02:00), a day (2026-03-29), from one to another (A/B), or an "
        'object as policy files have them: \'{"weekly":["sat"],"from":"17:00","to":"20:00","first":..,"last":..}\'.\n'
        "All of them are one record: registered together, or none. What has passed costs budget, and is refused where "
        "there is too little. Take them from a calendar or from releases: landmarks chosen from raw values tell of "
        "them.\n"
        f"{page_at('how-to/register-landmarks-late.md')} says more.\n"
    )
    parser.add_argument("series", help="the series whose landmarks they are")
    parser.add_argument("--add", nargs="+", action="extend", default=[], metavar="TIME", help="landmarks to register")
    parser.add_argument("--ics", action="append", default=[], metavar="FILE", help="register all events of a calendar")
    parser.add_argument("--zone", help="the zone of days, and of times that name none, such as Europe/Paris")
    parser.add_argument("--dry-run", action="store_true", help="print the record that would be sent, and send nothing")
    parser.add_argument(
        "--wait",
        type=float,
        default=WAIT_SECONDS,
        metavar="SECONDS",
        help="how long to wait for the answer (default: %(default)g)",
    )
    add_config(parser)
    parser.add_argument("--json", action="store_true", help="print the answer as one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Send the record and tell its answer; 0 registered, 1 refused, 3 no answer in time.

    Raises:
        UsageError: with everything that is wrong with what is to be registered.
    """
    if not arguments.wait > 0:
        raise UsageError(f"--wait {arguments.wait:g}: give an interval above 0 seconds")
    zone = _zone(arguments.zone)
    spans = _spans(arguments, zone)
    record = _record(arguments.series, spans)
    if warning := moment_as_seconds(spans[0] if isinstance(spans[0], int) else spans[0][0]):
        print(f"landmark-stream landmarks: {warning}", file=sys.stderr)
    if arguments.dry_run:
        print(record.decode() if arguments.json else "\n".join((_said(arguments.series, spans, zone), record.decode())))
        return 0
    settings = settings_of(arguments)
    event = Event(record_key(record, settings.member_separator), record)
    answer = answered(settings, event, "landmarks", arguments.wait)
    code = 0 if answer.entry is not None else 1 if answer.reject is not None else NO_ANSWER
    if arguments.json:
        print(wire.dump(_document(answer)).decode())
    else:
        print(f"{_said(arguments.series, spans, zone)}: {_told(answer, arguments.wait)}")
    return code


def _zone(name: str | None) -> tzinfo | None:
    try:
        return None if name is None else zone_of(name)
    except WrongTimesError as error:
        raise UsageError(f"--zone: {error}") from None


def _spans(arguments: argparse.Namespace, zone: tzinfo | None) -> tuple[Span, ...]:
    forms: list[object] = [_form(text) for text in arguments.add]
    named = [*(f"--add {text}" for text in arguments.add), *(f"--ics {file}" for file in arguments.ics)]
    if not named:
        raise UsageError("nothing to register; say --add TIME or --ics FILE")
    forms += [{"ics": file} for file in arguments.ics]
    try:
        return spans_of(forms, zone, lambda name: Path(name).read_bytes())
    except WrongTimesError as error:
        raise UsageError("\n".join(_fault(named, wrong.member, wrong.message) for wrong in error.wrongs)) from None


def _fault(named: Sequence[str], member: str, message: str) -> str:
    number, _, inner = member.partition(".")
    return f"{named[int(number)]}: " + (f"{inner.removeprefix('ics.')}: " if inner not in {"", "ics"} else "") + message


def _form(text: str) -> object:
    """Return the form that a word of the command line stands for."""
    if INTEGER.fullmatch(text):
        return int(text)
    try:
        return wire.load(text.encode()) if text.startswith(("{", "[")) else text
    except ValueError:
        return text


def _record(series: str, spans: Sequence[Span]) -> bytes:
    record = wire.dump({"type": "landmarks", "series": series, "add": spans})
    if len(record) > wire.LARGEST_RECORD_BYTES:
        found = (
            f"{len(spans):,} intervals are {len(record):,} bytes, a record has at most {wire.LARGEST_RECORD_BYTES:,}"
        )
        raise UsageError(f"{found}; register them in several commands")
    if not isinstance(wire.decode(record), records.LandmarksRecord):
        raise UsageError(f"{series!r} is no series; it has 1 to {wire.LARGEST_SERIES_BYTES} bytes")
    return record


def _said(series: str, spans: Sequence[Span], zone: tzinfo | None) -> str:
    """Say what is to be registered."""
    bounds = [(each, each) if isinstance(each, int) else each for each in spans]
    first, last = (moment_in_words(moment, zone or UTC) for moment in (bounds[0][0], bounds[-1][1]))
    found = "1 landmark" if len(spans) == 1 else f"{len(spans):,} landmarks"
    lasting = sum(end - start for start, end in bounds)
    return f"{series}: {found}, {first} to {last}" + (f", {duration_in_words(lasting)} in all" if lasting else "")


def _told(answer: WorkersAnswer, seconds: float) -> str:
    entry, reject = answer.entry, answer.reject
    if entry is not None:
        charged = f"{entry['charged_nano'] / NANO:g} of epsilon is charged for steps that have passed"
        left = f"{entry['landmarks_left']:,} landmarks and spare ones are to come"
        return f"registered under version {entry['policy']}; {charged}; {left}"
    if reject is not None:
        reason = REASONS[reject["reason"]]
        return f"refused ({reject['reason']}): {reason.meaning}; what to do: {reason.remedy}"
    where = f"partition {answer.place.partition}, offset {answer.place.offset}"
    remedy = "see that a worker runs: it will still decide the record, and `read ledger` or `read rejects` shows it"
    return f"sent ({where}), and no answer came in {seconds:g} s; {remedy}"


def _document(answer: WorkersAnswer) -> dict[str, Any]:
    outcome = "registered" if answer.entry is not None else "refused" if answer.reject is not None else "no-answer"
    return {
        "outcome": outcome,
        "partition": answer.place.partition,
        "offset": answer.place.offset,
        "entry": answer.entry,
        "reject": answer.reject,
    }
