"""Reads a ledger, its releases and checkpoints from the topics that the configuration names.

Only committed records are read.
"""

import argparse
import asyncio
import logging
import signal
import time
from collections import deque
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Final, Literal

from stream_app.audit import Auditor, Finding
from stream_app.audit.files import Feed, Progress
from stream_app.audit.finding import CODES, LISTED, KeyChange, Remark, kind_of
from stream_app.audit.report.report import line_of
from stream_app.audit.topic import FollowedTopics, Waiting, follow_topics, read_ledger_topic, read_topics
from stream_app.cli import UsageError
from stream_app.cli.ledger.headoptions import feed_head_files, feed_heads
from stream_app.cli.shared.configured import reaching
from stream_app.cli.shared.terminal import progress
from stream_app.kafka.client.security import client_arguments
from stream_app.monitoring.logs import configure_logs
from stream_app.monitoring.metrics import AUDIT_TABLE, AuditMetric, Metrics
from stream_app.monitoring.serve import ListenError, Server
from stream_app.monitoring.statuspage.audit import AboutAudit, ShownFinding, audit_page
from stream_app.monitoring.statuspage.document import View
from stream_app.setup.settings import Settings
from stream_app.words.amount import quoted

logger = logging.getLogger("stream_app.cli.ledger.audit")  # logger name in log lines

SHOWN: Final = 20  # latest findings on the page; the report lists all of them


def feed_topic(settings: Settings, name: Literal["ledger", "releases"], feed: Feed, what: str) -> None:
    """Pass all committed records of a topic to ``feed``, with a progress bar. Raises `UsageError`."""
    with reaching(settings), progress(what) as shown:
        asyncio.run(read_ledger_topic(client_arguments(settings), f"{settings.prefix}.{name}", feed, shown))


class TopicSource:
    """The topics of the ledger and, if requested, of releases and signed checkpoints."""

    def __init__(self, arguments: argparse.Namespace, settings: Settings) -> None:
        """Select, from the settings, the topics that the arguments request."""
        if arguments.releases is not None:
            raise UsageError("--releases FILE: add --ledger FILE; without files, both topics are read")
        self._arguments = arguments
        self._settings = settings
        self._client = client_arguments(settings)
        self._releases = None if arguments.no_releases else f"{settings.prefix}.releases"
        self.has_releases = self._releases is not None
        self.topic = f"{settings.prefix}.ledger"

    def read(self, auditor: Auditor) -> set[tuple[str, int]]:
        """Pass all records to an auditor; return the (series, timestamp) pairs to check for a missing partner."""
        feed_head_files(self._arguments, auditor)
        if auditor.heads is not None and self._arguments.heads is True:
            feed_heads(self._settings, auditor.heads.record)
        with reaching(self._settings), progress("audit") as shown:
            return asyncio.run(read_topics(auditor, self._client, self.topic, self._releases, shown))

    def follow(self, auditor: Auditor, stop: asyncio.Event, seen: Progress) -> Coroutine[None, None, Waiting]:
        """Pass all records to an auditor as they are committed, until `stop` is set; return what `read` returns."""
        feed_head_files(self._arguments, auditor)
        heads = f"{self._settings.prefix}.heads" if self._arguments.heads is True else None
        return follow_topics(auditor, self._client, FollowedTopics(self.topic, self._releases, heads), stop, seen)

    def again(self, feed: Feed) -> None:
        """Read the ledger again, because the series to draw are known only after the first reading."""
        feed_topic(self._settings, "ledger", feed, "draw")


class Following:
    """An audit that runs until SIGINT or SIGTERM; a second signal ends it without a report."""

    def __init__(self, source: TopicSource, settings: Settings, port: int) -> None:
        """Configure logging as in a worker; `run` serves the page, the metrics and the health checks."""
        configure_logs(settings.log_level, settings.log_format)
        self._source = source
        self._settings = settings
        self._latest: deque[ShownFinding] = deque(maxlen=SHOWN)
        self._began_seconds = time.monotonic()
        self._port = port
        self._metrics = Metrics(AUDIT_TABLE)
        self._logged = self._remarked = 0
        self._lag: int | None = None  # in records; None before the first turn
        self._ready = False

    def tell(self, finding: Finding) -> None:
        """Count a finding, and log it unless too many findings have been logged."""
        self._metrics.count(AuditMetric.FINDINGS, 1, finding.code)
        self._latest.appendleft(self._shown(finding))
        self._logged += 1
        # PRIVACY: a finding contains only what the ledger contains, and about a release only its step, never its value.
        if self._logged <= LISTED:
            told = {"code": finding.code, "series": quoted(finding.series), "sequence": finding.sequence}
            logger.error("finding: %s", line_of(finding), extra=told)
        elif self._logged == LISTED + 1:
            logger.error("further findings are only counted (landmark_audit_findings)")

    def remark(self, made: Remark | KeyChange) -> None:
        """Log a remark, which is not a finding, unless too many remarks have been logged."""
        self._remarked += 1
        if self._remarked > LISTED:
            return
        if isinstance(made, Remark):
            logger.warning("remark: %s", line_of(made))
        else:
            place = f"{quoted(made.series)} #{made.sequence}"
            logger.warning("another noise key: %s  %s after %s", place, made.key, made.before)

    def run(self, auditor: Auditor) -> Waiting:
        """Follow the topics until a signal arrives; return the steps to check for a missing partner.

        Raises `UsageError`.
        """
        try:
            with reaching(self._settings):
                return asyncio.run(self._run(auditor))
        except ListenError as error:
            remedy = "Use --http-port 0 (any free port)" if error.in_use else "Use an address of this machine"
            raise UsageError(f"--http-port: {error} {remedy}") from None

    async def _run(self, auditor: Auditor) -> Waiting:
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
        await server.start(self._settings.http_host, self._port)
        logger.info("page, metrics and health at http://%s:%d", self._settings.http_host, server.port)
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
        return (True, "follows the ledger") if self._ready else (False, "reading existing records")

    def _shown(self, finding: Finding) -> ShownFinding:
        when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
        # PRIVACY: anyone who reaches the port can read the page, so series are shown only if the operator allowed it.
        if not self._settings.http_series:
            return ShownFinding(when, finding.code, "", "")
        place = f"{finding.series} {finding.sequence}" if finding.sequence else finding.series
        return ShownFinding(when, finding.code, place, finding.message)

    def _page(self, auditor: Auditor, view: View) -> str:
        up_seconds = time.monotonic() - self._began_seconds
        signed = auditor.heads is not None
        meanings: dict[str, str] = dict(CODES.items())
        breaks = frozenset(str(code) for code in CODES if kind_of(code) == "promise")
        about = AboutAudit(self._source.topic, self._ready, signed, meanings, self._latest, up_seconds, breaks)
        return audit_page(about, view)

    def _refresh(self, auditor: Auditor) -> None:
        self._metrics.set(AuditMetric.ENTRIES, auditor.entries_read)
        self._metrics.set(AuditMetric.SERIES, auditor.series_read)
        self._metrics.set(AuditMetric.LAG_RECORDS, self._lag or 0)
        if auditor.heads is not None:
            unsigned = max(0, auditor.entries_read - auditor.heads.expected.entries_signed)
            self._metrics.set(AuditMetric.UNSIGNED_ENTRIES, unsigned)
