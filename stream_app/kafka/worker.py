"""A worker's life: start, serve, and stop cleanly at a signal or when its partitions have stopped."""

import asyncio
import gc
import logging
import signal
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress

from aiokafka.errors import InconsistentGroupProtocolError

from stream_app import __version__
from stream_app.deciding.context import Context
from stream_app.heads.signing import SigningKey
from stream_app.kafka.client.eventstopic import LOOK_SECONDS, SILENT_SECONDS, EventsTopic
from stream_app.kafka.client.refusal import GRANT, silent_brokers, unauthorized
from stream_app.kafka.client.topics import TopicNames
from stream_app.kafka.faust.app import App
from stream_app.kafka.faust.membership import Membership
from stream_app.kafka.owner.budgets import NAMED, counted_budgets, label_of, labels_of, show_budgets
from stream_app.kafka.stops import LOCAL_REASONS, REASONS, StopReason, files_exhausted
from stream_app.manual import page_at
from stream_app.monitoring.forcedexit import ForcedExit
from stream_app.monitoring.loggable import loggable
from stream_app.monitoring.logs import write_repeated_counts
from stream_app.monitoring.metrics import Metrics, WorkerMetric
from stream_app.monitoring.periodic import run_periodically
from stream_app.monitoring.serve import Server
from stream_app.monitoring.statuspage.document import View
from stream_app.monitoring.statuspage.worker import AboutWorker, worker_page
from stream_app.privacy.values import NANO
from stream_app.setup.settings import Settings

logger = logging.getLogger(__name__)

_LOOK_SECONDS = 0.25
_TELL_SECONDS = 5.0
_END_SECONDS = 12.0  # with the answers below and a margin for a busy machine: 20 in all
_ANSWER_SECONDS = 3.0
_STOP_SECONDS = 60.0  # as long as Faust's own services get
_FILES_SECONDS = 10.0
_STANDING_SECONDS = 5.0  # as often as Prometheus scrapes
_STANDING_SHARE = 0.02  # share of the time; 50,000 series take about 0.05 s


class Worker:
    """One process that owns some of the partitions."""

    def __init__(
        self,
        settings: Settings,
        context: Context,
        signing_key: SigningKey | None,
        events_id: str,
        forced_exit: ForcedExit,
        *,
        accept_new_key: bool = False,
    ) -> None:
        self._settings = settings
        self._forced_exit = forced_exit
        self._signing_key = signing_key
        self._metrics = Metrics()
        self._metrics.set(WorkerMetric.FIRST_KEY_EPOCH, context.keys.first_epoch)
        self._metrics.set(WorkerMetric.KEY_INFO, 1, context.keys.fingerprint)
        self._metrics.set(WorkerMetric.BUILD, 1, __version__)
        self._metrics.set(WorkerMetric.PARTITIONS_CONFIGURED, settings.partitions)
        self._labels = labels_of(context.defaults)
        for default in context.defaults[:NAMED]:
            policy = default.policy
            where = (label_of(self._labels, default.digest), policy.level, policy.scheme.name)
            self._metrics.set(WorkerMetric.DEFAULT_POLICY_EPSILON, policy.epsilon_nano / NANO, *where)
        self._names = TopicNames.of(settings.prefix, settings.application)
        self._topic = EventsTopic(settings, self._names.events, events_id)
        self._app = App(
            settings, context, signing_key, self._topic, self._names, self._metrics, accept_new_key=accept_new_key
        )
        self._asked_to_stop = asyncio.Event()
        self._began_seconds = self._had_files = time.monotonic()
        self._silent = False
        self._membership = Membership(settings)
        self._ended_with: Mapping[int, StopReason] = {}

    async def run(self) -> int:
        """Run until a signal; return 0, or 1 after a crash or if its partitions stopped (`exit_when_stopped`)."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._asked_to_stop.set)
        server = Server(self._metrics, self._healthy, self._ready, self._refresh, self._page)
        await server.start(self._settings.http_host, self._settings.http_port)
        if self._signing_key is None:
            logger.warning(
                "no checkpoints are signed (signing_key_file): nobody would notice a completely rewritten ledger"
            )
        else:
            logger.info("checkpoints of the ledger are signed with key %s", self._signing_key.fingerprint)
        logger.info("page, metrics and health at http://%s:%d", self._settings.http_host, server.port)
        starting = asyncio.create_task(self._app.start())
        counting = asyncio.create_task(
            run_periodically("counting budgets", self._count_budgets, _STANDING_SECONDS, _STANDING_SHARE)
        )
        looking = asyncio.create_task(run_periodically("looking at the events topic", self._topic.look, LOOK_SECONDS))
        telling = asyncio.create_task(run_periodically("telling repeated lines", self._tell_repeated, _TELL_SECONDS))
        failed = True
        try:
            failed = await self._watch(starting)
        finally:
            logger.info("stopping")
            self._ended_with = self._app.partitions.stopped
            shown_seconds = self._settings.exit_delay_ms / 1000 if failed and self._ended_with else 0.0
            shown_until = time.monotonic() + shown_seconds
            # Partitions wait a share of the session timeout for their transactions.
            self._forced_exit.within(_STOP_SECONDS + self._settings.session_timeout_ms / 1000 / 2 + shown_seconds)
            for beside in (counting, looking, telling):
                beside.cancel()
            ending = asyncio.create_task(self._end(starting))
            _, late = await asyncio.wait({ending}, timeout=_END_SECONDS)
            if late:
                await self._leave_to_others(int(failed), shown_until)
            await ending
            await self._be_seen(shown_until)
            await server.stop()
        logger.info("stopped")
        return int(failed)

    async def _end(self, starting: "asyncio.Task[None]") -> None:
        if not starting.done():
            starting.cancel()
            with suppress(asyncio.CancelledError):
                await starting
        await self._app.stop()

    async def _be_seen(self, until: float) -> None:
        """Keep serving until one more scrape can show why partitions stopped; a signal ends the wait.

        Other workers own the partitions by now.
        """
        seconds = until - time.monotonic()
        if seconds > 0:
            logger.info(
                "serves metrics for another %.0f s (exit_delay_ms), so that Prometheus sees why partitions stopped",
                seconds,
            )
            with suppress(TimeoutError):
                await asyncio.wait_for(self._asked_to_stop.wait(), seconds)

    async def _leave_to_others(self, code: int, shown_until: float) -> None:
        """Exit if brokers are silent, because each request to them would wait until it times out."""
        silent = await silent_brokers(self._settings, _ANSWER_SECONDS)
        if silent:
            logger.info(
                "stopped: no answer from %s. The next owner of the partitions aborts the open transaction, processes "
                "its input again with the same result, and continues after the last transaction",
                ", ".join(silent),
            )
            await self._be_seen(shown_until)
            self._forced_exit.leave(code)

    async def _watch(self, starting: "asyncio.Task[None]") -> bool:
        """Wait until the worker must end; return whether it ends because of a failure."""
        # Objects that are alive now live until the end, so the collector need not examine them again.
        gc.collect()
        gc.freeze()
        # A batch creates no cycles, and looking for them every 700 new objects took 4.5 % of a worker's time.
        gc.set_threshold(100_000, 20, 1_000)
        while not self._asked_to_stop.is_set():
            if starting.done() and starting.exception() is not None:
                logger.error("cannot start: %s", _ended_by(starting.exception()))
                return True
            if self._app.crashed:
                logger.error("crashed: %s", _ended_by(self._app.crash_reason))
                return True
            if self._topic.state in {"replaced", "grown"}:
                logger.error("ends: %s", self._topic.trouble)
                return True
            if (limit := self._out_of_files()) is not None:
                logger.error("ends (file-limit): %s. %s", limit, REASONS["file-limit"].remedy)
                return True
            if self._given_up():
                logger.error("ends: partitions %s stopped", self._app.partitions.stopped)
                return True
            self._tell_silence()
            self._membership.look(member=self._app.in_group, silent=self._topic.silent)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._asked_to_stop.wait(), _LOOK_SECONDS)
        return False

    def _tell_silence(self) -> None:
        """Log when brokers fall silent and when they answer again.

        The libraries' own log lines do not explain the consequences.
        """
        if self._silent == self._topic.silent:
            return
        self._silent = self._topic.silent
        if self._silent:
            what = (
                "degraded: no answer from the brokers for %.0f s; nothing is processed until they answer again. See %s"
            )
            logger.warning(what, SILENT_SECONDS, page_at("alerts/LandmarkDegraded.md"))
        else:
            logger.info("the brokers answer again")

    def _out_of_files(self) -> str | None:
        """Return the limit if opening files has failed for some time; a worker cannot work without connections."""
        limit, now = files_exhausted(), time.monotonic()
        if limit is None:
            self._had_files = now
        return limit if now - self._had_files > _FILES_SECONDS else None

    async def _count_budgets(self) -> None:
        show_budgets(self._metrics, self._labels, counted_budgets(self._app.partitions.rows()))

    async def _tell_repeated(self) -> None:
        write_repeated_counts()

    def _given_up(self) -> bool:
        partitions = self._app.partitions
        when = self._settings.exit_when_stopped
        if when != "never" and not LOCAL_REASONS.isdisjoint(partitions.stopped.values()):
            return True  # another worker can continue them
        if not partitions.stopped or not partitions.prepared:
            return False
        return when == "any" or (when == "all" and not partitions.running)

    @property
    def _stopped(self) -> Mapping[int, StopReason]:
        """The stopped partitions, even at the end, when the worker no longer owns any partition."""
        return self._ended_with or self._app.partitions.stopped

    def _healthy(self) -> tuple[bool, str]:
        if self._app.crashed:
            return False, "crashed"
        if self._membership.lost:
            return False, f"outside its consumer group for over {self._membership.grace_seconds:.0f} s"
        return True, "alive"

    def _ready(self) -> tuple[bool, str]:
        partitions = self._app.partitions
        if self._stopped:
            return False, f"partitions stopped: {self._stopped}"
        if self._topic.trouble is not None:
            return False, self._topic.trouble
        if self._membership.lost or not partitions.prepared:
            outside = "outside" if self._membership.lost else "waits for"
            outside = "" if self._app.in_group else f"{outside} its consumer group; "
            return False, f"{outside}taking over; works on partitions {partitions.working}"
        degraded = "; degraded: the brokers do not answer" if self._topic.silent else ""
        return True, f"partitions {partitions.running}{degraded}"

    def _page(self, view: View) -> str:
        partitions = self._app.partitions
        return worker_page(
            AboutWorker(
                application=self._settings.application,
                crashed=self._app.crashed,
                prepared=partitions.prepared,
                partitions={**partitions.owned, **self._ended_with},
                running=partitions.running,
                up_seconds=time.monotonic() - self._began_seconds,
                topic_there=self._topic.trouble is None,
                degraded=self._topic.silent,
                outside=self._membership.lost,
                joining=0.0 if self._app.in_group else self._settings.session_timeout_ms / 1000,
                advice=dict(REASONS.items()),
            ),
            view,
        )

    def _refresh(self) -> None:
        partitions, metrics = self._app.partitions, self._metrics
        member = self._app.in_group
        for number in partitions.idle if member and not self._topic.silent else ():
            metrics.set(WorkerMetric.EVENT_LAG_SECONDS, 0.0, str(number))
        metrics.set(WorkerMetric.IN_GROUP, int(member))
        metrics.set(WorkerMetric.PARTITIONS_RUNNING, len(partitions.running) if member or self._topic.silent else 0)
        if self._membership.lost:
            metrics.forget(WorkerMetric.EVENT_LAG_RECORDS)  # waiting records are unknown: no fetch since
        metrics.set(WorkerMetric.DEGRADED, int(self._topic.silent))
        metrics.forget(WorkerMetric.PARTITIONS_STOPPED)
        for reason, same in Counter(self._stopped.values()).items():
            metrics.set(WorkerMetric.PARTITIONS_STOPPED, same, reason)
        recovery, read_back = self._app.recovery, partitions.read_back
        metrics.set(WorkerMetric.RECOVERY_REMAINING, sum(read_back.remaining.values()))
        metrics.set(WorkerMetric.RECOVERED_ROWS, recovery.standby_rows + read_back.rows)
        metrics.set(WorkerMetric.STANDBY_REMAINING, recovery.standby_remaining_total())
        metrics.set(WorkerMetric.STATE_BYTES, self._app.store.bytes_on_disk())


def _ended_by(error: BaseException | None) -> str:
    if isinstance(error, InconsistentGroupProtocolError):
        return f"the group's other workers use a different member_separator. {REASONS['separator-changed'].remedy}"
    said = "no reason" if error is None else loggable(error)
    return f"{said}. {GRANT}" if unauthorized(error) else said
