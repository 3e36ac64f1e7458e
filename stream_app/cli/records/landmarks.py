"""``landmarks SERIES``: register late landmarks, given in human-readable times, and await the answer."""

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any

from stream_app.calendar.landmarks import Span, spans_of
from stream_app.calendar.localtime import WrongTimesError, zone_of
from stream_app.calendar.words import duration_in_words, moment_as_seconds, moment_in_words
from stream_app.cli import UsageError, mendable
from stream_app.cli.shared.answers import NO_ANSWER, advice, answer_document, answered, checked_wait, where
from stream_app.cli.shared.arguments import add_config
from stream_app.cli.shared.configured import settings_of
from stream_app.cli.shared.eventfile import record_key
from stream_app.formats import records, wire
from stream_app.kafka.client.sending import Event
from stream_app.kafka.outcome import WorkersAnswer
from stream_app.manual import page_at
from stream_app.plain import INTEGER
from stream_app.privacy.values import NANO

WAIT_SECONDS = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = (
        "TIME is integer ms, a time (2026-03-29T17:00+02:00), a day (2026-03-29), an interval (A/B), or an object as "
        'in policy files: \'{"weekly":["sat"],"from":"17:00","to":"20:00","first":..,"last":..}\'.\n'
        "All TIMEs form one record: either all are registered or none are. Past steps cost budget, and the record is "
        "rejected if too little budget remains. Take landmarks from a calendar or from releases: landmarks chosen "
        f"from raw values reveal those values.\nFor more, see {page_at('how-to/register-landmarks-late.md')}.\n"
    )
    parser.add_argument("series", help="the series of the landmarks")
    parser.add_argument("--add", nargs="+", action="extend", default=[], metavar="TIME", help="landmarks to register")
    parser.add_argument("--ics", action="append", default=[], metavar="FILE", help="register all events of a calendar")
    parser.add_argument("--zone", help="the time zone of days and of times without a zone, such as Europe/Paris")
    parser.add_argument("--dry-run", action="store_true", help="print the record that would be sent, and send nothing")
    wait_help = "how long to wait for the answer (default: %(default)g)"
    parser.add_argument("--wait", type=float, default=WAIT_SECONDS, metavar="SECONDS", help=wait_help)
    add_config(parser)
    parser.add_argument("--json", action="store_true", help="print the answer as one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Send the record and print its answer; return 0 if registered, 1 if refused, and 3 if there is no answer.

    Raises a `UsageError` that names all faults.
    """
    checked_wait(arguments.wait)
    with mendable(WrongTimesError, by="--zone: "):
        zone = None if arguments.zone is None else zone_of(arguments.zone)
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


def _spans(arguments: argparse.Namespace, zone: tzinfo | None) -> tuple[Span, ...]:
    forms: list[object] = [_form(text) for text in arguments.add]
    named = [*(f"--add {text}" for text in arguments.add), *(f"--ics {file}" for file in arguments.ics)]
    if not named:
        raise UsageError("nothing to register; add --add TIME or --ics FILE")
    forms += [{"ics": file} for file in arguments.ics]
    try:
        return spans_of(forms, zone, lambda name: Path(name).read_bytes())
    except WrongTimesError as error:
        raise UsageError("\n".join(_fault(named, wrong.member, wrong.message) for wrong in error.wrongs)) from None


def _fault(named: Sequence[str], member: str, message: str) -> str:
    number, _, inner = member.partition(".")
    return f"{named[int(number)]}: " + (f"{inner.removeprefix('ics.')}: " if inner not in {"", "ics"} else "") + message


def _form(text: str) -> object:
    if INTEGER.fullmatch(text):
        return int(text)
    try:
        return wire.load(text.encode()) if text.startswith(("{", "[")) else text
    except ValueError:
        return text


def _record(series: str, spans: Sequence[Span]) -> bytes:
    record, most = wire.dump({"type": "landmarks", "series": series, "add": spans}), wire.LARGEST_RECORD_BYTES
    if len(record) > most:
        found = f"{len(spans):,} intervals need {len(record):,} bytes, but a record can have at most {most:,}"
        raise UsageError(f"{found}; register them with several commands")
    if not isinstance(wire.decode(record), records.LandmarksRecord):
        raise UsageError(f"{series!r} is not a valid series id; use 1 to {wire.LARGEST_SERIES_BYTES} bytes")
    return record


def _said(series: str, spans: Sequence[Span], zone: tzinfo | None) -> str:
    bounds = [(each, each) if isinstance(each, int) else each for each in spans]
    first, last = (moment_in_words(moment, zone or UTC) for moment in (bounds[0][0], bounds[-1][1]))
    found = "1 landmark" if len(spans) == 1 else f"{len(spans):,} landmarks"
    lasting = sum(end - start for start, end in bounds)
    return f"{series}: {found}, {first} to {last}" + (f", {duration_in_words(lasting)} in total" if lasting else "")


def _told(answer: WorkersAnswer, seconds: float) -> str:
    entry, reject = answer.entry, answer.reject
    if entry is not None:
        charged = f"epsilon {entry['charged_nano'] / NANO:g} is charged for past steps"
        left = f"{entry['landmarks_left']:,} landmarks remain, including spare landmarks"
        return f"registered under version {entry['policy']}; {charged}; {left}"
    if reject is not None:
        return f"refused {advice(reject['reason'])}"
    remedy = (
        "make sure that a worker is running: it will still process the record, and `read ledger` or `read rejects` "
        "shows the answer"
    )
    return f"sent ({where(answer.place)}), but no answer came within {seconds:g} s; {remedy}"


def _document(answer: WorkersAnswer) -> dict[str, Any]:
    outcome = "registered" if answer.entry is not None else "refused" if answer.reject is not None else "no-answer"
    return {"outcome": outcome, **answer_document(answer)}
