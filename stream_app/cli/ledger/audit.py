"""``audit``: check a ledger by a second implementation of its arithmetic; the verdict stands in the first line."""

import argparse
import logging
import signal
import time
from collections import deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from stream_app.audit import Auditor, Finding
from stream_app.audit.finding import CODES, LISTED, kind_of
from stream_app.audit.remark import KeyChange, Remark
from stream_app.audit.report.report import line_of
from stream_app.cli import UsageError
from stream_app.cli.shared.arguments import port
from stream_app.words.amount import quoted

if TYPE_CHECKING:
    from stream_app.audit.topic import Waiting
    from stream_app.cli.ledger.topicsource import TopicSource
    from stream_app.monitoring.statuspage.audit import Found
    from stream_app.monitoring.statuspage.document import View
    from stream_app.setup.settings import Settings
from pathlib import Path
from typing import TYPE_CHECKING

from stream_app.audit.answers.text import document_of, text_of
from stream_app.audit.form.reader import dump
from stream_app.cli.ledger.drawing import add_drawing_arguments, draw, look, question_in
from stream_app.cli.ledger.filesource import FileSource, reads_twice
from stream_app.cli.ledger.headoptions import add_head_arguments, trusted_keys
from stream_app.cli.ledger.lifetime import add_lifetime, lifetime_of, settings_of
from stream_app.cli.shared.terminal import say

if TYPE_CHECKING:
    from stream_app.cli.ledger.topicsource import TopicSource
    from stream_app.setup.settings import Settings


logger = logging.getLogger(__name__)

PORT = 9465
SHOWN: Final = 20  # findings that the page shows, the latest; the report has all


def add_following_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``--follow``."""
    parser.add_argument(
        "--follow",
        action="store_true",
        help="go on beside a live worker: findings are log lines and metrics at once; a signal ends it with the report",
    )
    parser.add_argument(
        "--http-port",
        type=port,
        default=PORT,
        metavar="PORT",
        help=f"with --follow: where a page, metrics and health are served (default {PORT}; 0: any free one)",
    )


class Following:
    """An audit that goes on until SIGINT or SIGTERM; a second signal ends it without a report."""

    def __init__(self, source: "TopicSource", settings: "Settings", port: int) -> None:
        """Log as a worker does; a page, metrics and health are served once it runs."""
        from stream_app.monitoring.logs import configure_logs  # noqa: PLC0415 - files are audited without it
        from stream_app.monitoring.metrics import AUDIT_TABLE, Metrics  # noqa: PLC0415

        configure_logs(settings.log_level, settings.log_format)
        self._source = source
        self._show_series = settings.http_series
        self._latest: deque[Found] = deque(maxlen=SHOWN)
        self._began_seconds = time.monotonic()
        self._host, self._port = settings.http_host, port
        self._metrics = Metrics(AUDIT_TABLE)
        self._logged = self._remarked = 0
        self._lag: int | None = None  # records; None before the first turn
        self._ready = False

    def tell(self, finding: Finding) -> None:
        """Count a finding, and log it unless there were too many."""
        from stream_app.monitoring.metrics import AuditMetric  # noqa: PLC0415

        self._metrics.count(AuditMetric.FINDINGS, 1, finding.code)
        self._latest.appendleft(self._shown(finding))
        self._logged += 1
        # PRIVACY: a finding holds what the ledger holds, and of a release its step, never its value.
        if self._logged <= LISTED:
            told = {"code": finding.code, "series": quoted(finding.series), "sequence": finding.sequence}
            logger.error("finding: %s", line_of(finding), extra=told)
        elif self._logged == LISTED + 1:
            logger.error("further findings are only counted (landmark_audit_findings)")

    def remark(self, made: Remark | KeyChange) -> None:
        """Log a remark, which is no fault, unless there were too many."""
        self._remarked += 1
        if self._remarked > LISTED:
            return
        if isinstance(made, Remark):
            logger.warning("remark: %s", line_of(made))
        else:
            place = f"{quoted(made.series)} #{made.sequence}"
            logger.warning("another noise key: %s  %s after %s", place, made.key, made.before)

    def run(self, auditor: Auditor) -> "Waiting":
        """Follow until a signal; return what is to be judged for a missing partner; raises `UsageError`."""
        import asyncio  # noqa: PLC0415 - files are audited without it

        from stream_app.monitoring.serve import ListenError  # noqa: PLC0415

        try:
            with self._source.reaching():
                return asyncio.run(self._run(auditor))
        except ListenError as error:
            remedy = "Give --http-port 0 (any free one)" if error.in_use else "Name what this machine has"
            raise UsageError(f"--http-port: {error} {remedy}") from None

    async def _run(self, auditor: Auditor) -> "Waiting":
        import asyncio  # noqa: PLC0415 - see `run`

        from stream_app.monitoring.serve import Server  # noqa: PLC0415

        stop, loop = asyncio.Event(), asyncio.get_running_loop()

        def end() -> None:
            stop.set()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, end)
        server = Server(
            self._metrics,
            lambda: (True, "alive"),
            self._is_ready,
            lambda: self._refresh(auditor),
            lambda seen: self._page(auditor, seen),
        )
        await server.start(self._host, self._port)
        logger.info("page, metrics and health at http://%s:%d", self._host, server.port)
        try:
            return await self._source.follow(auditor, stop, self._seen)
        finally:
            await server.stop()

    def _seen(self, done: int, total: int) -> None:
        self._lag = total - done
        if self._lag == 0 and not self._ready:
            self._ready = True
            logger.info("follows the ledger")

    def _is_ready(self) -> tuple[bool, str]:
        return (True, "follows the ledger") if self._ready else (False, "reading what there is")

    def _shown(self, finding: Finding) -> "Found":
        from stream_app.monitoring.statuspage.audit import Found  # noqa: PLC0415

        when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
        # PRIVACY: the page is for whoever reaches the port, so series are shown where the operator allowed it.
        if not self._show_series:
            return Found(when, finding.code, "", "")
        place = f"{finding.series} {finding.sequence}" if finding.sequence else finding.series
        return Found(when, finding.code, place, finding.message)

    def _page(self, auditor: Auditor, view: "View") -> str:
        from stream_app.monitoring.statuspage.audit import AboutAudit, audit_page  # noqa: PLC0415

        up_seconds = time.monotonic() - self._began_seconds
        signed = auditor.heads is not None
        meanings: dict[str, str] = dict(CODES.items())
        breaks = frozenset(str(code) for code in CODES if kind_of(code) == "promise")
        about = AboutAudit(self._source.topic, self._ready, signed, meanings, self._latest, up_seconds, breaks)
        return audit_page(about, view)

    def _refresh(self, auditor: Auditor) -> None:
        from stream_app.monitoring.metrics import AuditMetric  # noqa: PLC0415

        self._metrics.set(AuditMetric.ENTRIES, auditor.entries_read)
        self._metrics.set(AuditMetric.SERIES, auditor.series_read)
        self._metrics.set(AuditMetric.LAG_RECORDS, self._lag or 0)
        if auditor.heads is not None:
            unsigned = max(0, auditor.entries_read - auditor.heads.entries_signed)
            self._metrics.set(AuditMetric.UNSIGNED_ENTRIES, unsigned)


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
