"""Sends records and, with ``--wait``, reports each answer from a worker and the rule behind each refusal."""

import argparse
import asyncio
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from aiokafka.errors import KafkaError

from stream_app.cli import UsageError, mendable
from stream_app.cli.shared.configured import reaching, settings_of
from stream_app.cli.shared.eventfile import record_key
from stream_app.cli.shared.rejected import untaken
from stream_app.cli.shared.terminal import progress
from stream_app.formats import wire
from stream_app.formats.records import Watermark
from stream_app.kafka.client.cluster import ClusterError
from stream_app.kafka.client.refusal import refusal_of, unauthorized
from stream_app.kafka.client.sending import Event, Place, SentEvents, send_events
from stream_app.kafka.outcome import Outcome, Starts, UnheardError, WorkersAnswer, answer_to, ends_of, outcome_of
from stream_app.privacy.reason import REASONS, Reason
from stream_app.setup.settings import Settings

REFUSED, NO_ANSWER = 1, 3


def add_wait(parser: argparse.ArgumentParser) -> None:
    """Add ``--wait``."""
    wait_help = "wait up to this time for the worker's answer to each record, and print it"
    parser.add_argument("--wait", type=float, metavar="SECONDS", help=wait_help)


def checked_wait(seconds: float) -> None:
    """Raise `UsageError` unless ``seconds`` is above 0."""
    if not seconds > 0:
        raise UsageError(f"--wait {seconds:g}: use an interval above 0 seconds")


def outcome_told(found: Outcome, seconds: float) -> Iterator[str]:
    """Describe the outcome of sent records: ledger entries by decision, and rejects by reason, with the remedy."""
    entries = ", ".join(f"{count:,} {decision}" for decision, count in sorted(found.decisions.items()))
    yield f"{found.answered:,} of {found.sent:,} records answered" + (f"; ledger entries: {entries}" if entries else "")
    if found.kept:
        yield f"{found.kept:,} of them share a ledger entry, like contributions and readings of one step"
    for reason, count in found.rejects.most_common():
        yield f"{count:,} rejected {advice(reason)}"
    if found.answered < found.sent:
        yield (
            f"no answer to {found.sent - found.answered:,} records within {seconds:g} s: contributions, readings and "
            "the watermark before them wait for the end of their step; for other records, make sure that a worker is "
            "running: it will still process them, and `read ledger` or `read rejects` shows the answers"
        )


@contextmanager
def unheard(settings: Settings) -> Iterator[None]:
    """Raise `UsageError`, saying that nothing was sent, if this user may not read the workers' answers."""
    try:
        yield
    except (KafkaError, ClusterError) as error:
        if not unauthorized(error):
            raise
        refusal = refusal_of(settings, error)
        raise UsageError(f"nothing was sent: {refusal}; waiting for answers needs the role registrar") from None


def answered(settings: Settings, event: Event, kind: str, seconds: float) -> WorkersAnswer:
    """Send a record and return its answer; a `UsageError` says whether the record was sent."""
    with reaching(settings), unheard(settings):
        try:
            return asyncio.run(answer_to(settings, event, kind, seconds))
        except UnheardError as error:
            told = f"sent ({where(error.place)}), so do not send it again; the answer cannot be read"
            raise UsageError(f"{told}: {refusal_of(settings, error.why)}") from None


def advice(reason: Reason) -> str:
    """Return the reason for a rejection, with its meaning and what to do."""
    return f"({reason}): {REASONS[reason].meaning}; what to do: {REASONS[reason].remedy}"


def where(place: Place) -> str:
    """Return the partition and offset of a record in the events topic."""
    return f"partition {place.partition}, offset {place.offset}"


def sent_and_answered(settings: Settings, found: Iterable[bytes], kind: str, seconds: float, *, as_json: bool) -> int:
    """Send records one by one and print each answer; return 0 if all were accepted.

    Return 1 if a record was refused and 3 if one has no answer. ``kind`` is the ledger entry of an accepted record.
    Raises `UsageError`, also for an invalid interval.
    """
    checked_wait(seconds)
    codes = {0}
    for record in found:
        event = Event(record_key(record, settings.member_separator), record)
        answer = answered(settings, event, kind, seconds)
        codes.add(0 if answer.entry is not None else REFUSED if answer.reject is not None else NO_ANSWER)
        if as_json:
            print(wire.dump(answer_document(answer)).decode(), flush=True)
        else:
            name = getattr(wire.decode(record), "series", None) or "a record"
            print(f"{name}: {told(answer, seconds, record)}", flush=True)
    return REFUSED if REFUSED in codes else max(codes)


def answer_document(answer: WorkersAnswer) -> dict[str, Any]:
    """Return an answer as a document."""
    place = {"partition": answer.place.partition, "offset": answer.place.offset}
    return {**place, "entry": answer.entry, "reject": answer.reject}


def told(answer: WorkersAnswer, seconds: float, record: bytes) -> str:
    """Return the outcome of a record; for a refusal, include the rule and the remedy."""
    if answer.entry is not None:
        return f"accepted, ledger entry {answer.entry['sequence']} under version {answer.entry['policy']}"
    if answer.reject is not None:
        reason = answer.reject["reason"]
        if reason == "wrong-type" and isinstance(wire.decode(record), Watermark):
            return f"refused (wrong-type): {untaken('watermark')}"
        return f"refused {advice(reason)}"
    unanswered = (
        f"but no answer came within {seconds:g} s; make sure that a worker is running: it will still process the record"
    )
    return f"sent ({where(answer.place)}), {unanswered}"


def send_and_tell(
    arguments: argparse.Namespace, found: Iterable[bytes], more: Callable[[], Mapping[str, int]] = dict
) -> int:
    """Send event records under the settings and print how many were sent.

    ``more`` returns additional facts for the JSON output.
    """
    settings = settings_of(arguments)
    separator = settings.member_separator
    acknowledged = SentEvents()
    starts: Starts = {}
    keyed = (Event(record_key(event, separator), event) for event in found)
    with reaching(settings):
        if arguments.wait is not None:
            with unheard(settings):
                starts = asyncio.run(ends_of(settings))
        try:
            asyncio.run(send_events(settings, keyed, acknowledged))
        except (KeyboardInterrupt, KafkaError):
            if told := _so_far(acknowledged):
                print(f"landmark-stream {arguments.command}: {told}", file=sys.stderr)
            raise
    sent = acknowledged.events
    if arguments.wait is None:
        print(wire.dump({"sent": sent, **more()}).decode() if arguments.json else f"{sent} events sent")
        return 0
    if not arguments.json:
        print(f"{sent} events sent", flush=True)
    untold = "all events are sent, so do not send them again; their answers are unknown: "
    with mendable(UsageError, by=untold), reaching(settings), progress("answers") as shown:
        moved = (lambda done: shown(done, sent)) if shown else (lambda _: None)
        outcome = asyncio.run(outcome_of(settings, acknowledged, starts, arguments.wait, moved))
    if arguments.json:
        print(wire.dump({**outcome.document(), **more()}).decode())
    else:
        print("\n".join(outcome_told(outcome, arguments.wait)))
    return REFUSED if outcome.rejects else NO_ANSWER if outcome.answered < sent else 0


def _so_far(sent: SentEvents) -> str:
    """Describe what an unfinished send left in the topic; return "" if it left nothing."""
    told = f"{sent.events:,} events were sent"
    if sent.unknown:
        return f"{told}; whether {sent.unknown:,} more were sent is unknown"
    return f"{told}, and no other events" if sent.events else ""
