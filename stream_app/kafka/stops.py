"""Reasons why a partition stops, each with what was expected, what was found and the remedy."""

import errno
import os
import resource
from typing import Final, Literal, get_args

from aiokafka import errors

from stream_app.deciding.collection import LostCountersError
from stream_app.kafka.brokers import DamagedCopyError, LocalReason, LocalStateError
from stream_app.kafka.client.batches import UnreadableBatchError
from stream_app.kafka.client.refusal import unauthorized
from stream_app.manual import page_at
from stream_app.monitoring.loggable import LoggableError, loggable
from stream_app.privacy.reason import Advice

_StateReason = Literal["tail-differs", "row-missing", "row-behind", "changelog-short", "state-damaged"]
_InputReason = Literal["input-lost", "input-short", "input-skipped"]
_OutputReason = Literal["release-lost", "ledger-short", "releases-short", "rejects-short", "head-damaged"]
_SetupReason = Literal["foreign-writer", "topic-replaced", "partition-count", "separator-changed", "key-changed"]
_RequestReason = Literal["batch-unreadable", "not-authorized", "transaction-failed", "transaction-open"]
StopReason = Literal[
    _StateReason, _InputReason, _OutputReason, _SetupReason, _RequestReason, LocalReason, "internal-error"
]

LOCAL_REASONS: Final[frozenset[StopReason]] = frozenset(get_args(LocalReason))

NO_FILES: Final = (errno.EMFILE, errno.ENFILE)
"""The system errors that occur if this process or the machine cannot open more files."""

_RECOVER = (
    "Stop the workers, run `landmark-stream recover`, which rebuilds the state from the ledger and the releases, and "
    "start the workers again"
)

_ANEW = (
    "start over under another `prefix` and another `application`, with a policy for the remaining budget of each "
    "series and without default policies; otherwise budgets are spent twice: "
    + page_at("how-to/back-up-and-restore.md#start-over-with-the-remaining-budget")
)

REASONS: Final[dict[StopReason, Advice]] = {
    "tail-differs": Advice(
        "the ledger contains entries of an unfinished batch, and recomputing them gives different entries: the noise "
        "key, the configuration or the way the program decides has changed since",
        "Somebody may have read these entries. Restart with the key file, the configuration and the version of the "
        "program that wrote them. Change these only after this partition has resumed",
    ),
    "row-missing": Advice("the state has no row for the partition, although it has processed input before", _RECOVER),
    "row-behind": Advice(
        "the state is older than the consumer group's offset, or than outputs whose input is deleted: somebody moved "
        "the offset forward, or changelog rows are lost",
        "If somebody moved the group's offset forward, set it back to where the state ends, or earlier: "
        + page_at("operating.md#the-groups-offsets")
        + ". Otherwise stop the workers, run `landmark-stream recover`, which rebuilds the state from the ledger and "
        "the releases and names the input that it would skip, and start the workers again",
    ),
    "changelog-short": Advice(
        "the changelog begins too late, ends before its last known record, or was deleted and created again: rows are "
        "lost, and series without a row would start over with their whole budget",
        f"{_RECOVER}. If its `cleanup.policy` is not exactly `compact` (see `topics --check`), set that first, or rows "
        "are lost again. If the local state of a worker is newer than the changelog, delete its `data_folder` before "
        "it starts, or it stops again",
    ),
    "state-damaged": Advice("a row cannot be read, or contradicts other rows", _RECOVER),
    "input-lost": Advice(
        "events were deleted before they were processed, or contributions or readings of open steps were deleted, so "
        "that the rest would look complete",
        "Run `landmark-stream recover --accept-lost-input`. It continues after the deleted events, adopts what an "
        "aborted batch wrote for them, because somebody may have read it, and gives up the affected steps. Raise the "
        "retention of the events",
    ),
    "input-short": Advice(
        "the events topic ends before input that was processed, or lost its end and has since grown: events are lost, "
        "or it is not the topic that the outputs come from, and later input would be skipped",
        f"Restore all topics from one backup. Without a backup, {_ANEW}",
    ),
    "input-skipped": Advice(
        "reported by `recover`: the consumer group's offset is past records for which there is no output. Somebody "
        "moved it forward, so these records would never be processed",
        "Set the group's offset back to where the outputs end, and run `landmark-stream recover` again: "
        + page_at("operating.md#the-groups-offsets")
        + ". To give up these records, run `recover --accept-skipped-input`, which skips them and gives up the steps "
        "that may have been open",
    ),
    "release-lost": Advice(
        "reported by `recover`: the worker died between writing a ledger entry and its release, and the input has "
        "been deleted",
        "Restore all topics from one backup. Without a backup, `recover --accept-lost-input --accept-lost-releases` "
        "gives up the step: its epsilon stays spent, and nothing is published for it",
    ),
    "ledger-short": Advice(
        "the ledger begins too late, or ends before entries that the state, a signed head or the releases refer to: "
        "entries are lost",
        "Restore the ledger topic from a backup; without it nobody can audit what was spent. If its beginning is "
        "missing, `landmark-stream recover` continues if heads or releases show that no series is missing: "
        + page_at("how-to/back-up-and-restore.md#logs-that-lost-an-end"),
    ),
    "releases-short": Advice(
        "releases that the state or the ledger refers to are missing, at the end of their log or before later "
        "releases: anyone who reads the releases later misses steps",
        "Run `landmark-stream recover`. If the last releases are missing and their input still exists, the next "
        "worker publishes them again. If releases are missing before later ones, `recover` names the first one; "
        "nobody can publish it in its proper position. In that case, or if the input is deleted, restore the releases "
        "topic from a backup, or run `recover --accept-lost-releases`. It gives up the steps whose releases are "
        "missing: their epsilon stays spent",
    ),
    "rejects-short": Advice(
        "rejects are missing, at the end of their log or before later ones: the senders of these records never learn "
        "that they were rejected",
        "Run `landmark-stream recover`. If the last rejects are missing and their input still exists, the next worker "
        "publishes them again. If rejects are missing before later ones, `recover` names the first input that must "
        "have been rejected; nobody can publish that reject in its proper position. In that case, or if the input is "
        "deleted, restore the rejects topic from a backup, or run `recover --accept-lost-releases`, which continues "
        "without them",
    ),
    "head-damaged": Advice(
        "the worker did not sign the last record of the heads for this partition",
        "`audit --heads` shows which records not to trust. Restore the topic from a backup, or delete it and create "
        "it again with `topics`: heads then start at 1, and a witness of the old heads will show this",
    ),
    "foreign-writer": Advice(
        "the outputs belong to another application: its claim applies to the ledger, or they contain records that "
        "this application did not write. Both applications would process every step and spend its budget twice",
        "Give each `application` its own `prefix`. If another application wrote by mistake, stop it for good. "
        "`landmark-stream audit` says whether both published the same step; if the audit holds, `recover` continues. "
        "If a record is not an output at all, `recover` names it and stops: restore that topic from a backup",
    ),
    "topic-replaced": Advice(
        "the events topic was deleted and created again: offsets of the old topic mean nothing in the new one",
        f"Restore all topics from one backup. Without a backup, {_ANEW}",
    ),
    "partition-count": Advice(
        "the partition count of the topics or the configuration has changed since series were assigned to partitions",
        "If only the `partitions` setting changed, set it back. If the events topic got more partitions, or you want "
        "more, move each series, with its remaining budget and its waiting input, to new topics: "
        + page_at("how-to/more-partitions.md"),
    ),
    "separator-changed": Advice(
        "the `member_separator` setting differs from the separator that assigned series to partitions and to people: "
        "series would move to other partitions, or reserve budget again",
        f"Set it back in all workers. If people are to have one budget from now on, {_ANEW}",
    ),
    "key-changed": Advice(
        "the partition was last written under a noise key other than this worker's: somebody gave the worker a new "
        "key, or its key file is the wrong one, and nobody keeps, distributes or erases that key as intended",
        "Give this worker the key file with the expected fingerprint. If you want a new key, stop all workers, "
        "give each the new file, and start them with `landmark-stream worker --accept-new-key` until each partition is "
        "written under it: " + page_at("how-to/keys.md#rotate"),
    ),
    "batch-unreadable": Advice(
        "a batch of the input, the changelog or the ledger cannot be decoded: it is damaged, or the library for its "
        "codec is missing here. Everything before it was processed",
        "If the library is missing, install `cramjam` and restart. Otherwise restore the topic from a complete replica "
        "or a backup. If the events topic has neither, delete its records up to the end of the batch "
        "(kafka-delete-records), then proceed as for input-lost",
    ),
    "not-authorized": Advice(
        "the brokers' ACLs deny something that a worker needs; the whole batch is discarded",
        "Allow it: `landmark-stream topics --acls worker=PRINCIPAL` prints the commands. Then restart the worker",
    ),
    "transaction-failed": Advice(
        "a transaction was not committed, and a new producer did not help",
        "The whole batch is discarded. Fix the cause and restart the worker",
    ),
    "transaction-open": Advice(
        "reported by `recover`: a log contains a transaction that its producer will never end. The log lost the "
        "marker, or a late request ended what came before, and the producer's id has since expired. Readers of "
        "committed records cannot read past it",
        "Abort it: `kafka-transactions.sh --bootstrap-server HOST:PORT abort` with the given topic, partition and "
        "start offset. Then run `recover` again",
    ),
    "disk-full": Advice(
        "the disk of `data_folder`, or this user's quota on it, is full; the worker ends, so that another worker "
        "takes over its partitions",
        "Free space on that disk, or set `data_folder` to a larger one. You can delete the folder while the worker is "
        "not running; the changelog rebuilds it",
    ),
    "file-limit": Advice(
        "this process, or its machine, cannot open more files and connections; the worker ends, so that another "
        "worker takes over its partitions",
        "Raise the limit (`ulimit -n`, `LimitNOFILE=`): 1,024 plus 300 for each partition is enough",
    ),
    "local-state": Advice(
        "the local copy of the rows cannot be opened, or is damaged and cannot be removed; the worker ends, so that "
        "another worker takes over its partitions",
        "Delete the named folder, or make it writable by the worker's user. Nothing is lost, because the changelog "
        "rebuilds it. If this happens again, the disk is failing",
    ),
    "internal-error": Advice(
        "a bug in the program; the whole batch is discarded", "Report this as a bug; restart the worker to try again"
    ),
}
"""Every reason with its meaning and its remedy."""


class PartitionStoppedError(LoggableError):
    """A partition that must not continue; its input stays unacknowledged, and other partitions are not affected.

    ``reason`` is a short code for metrics and logs; the sentences contain offsets, ids and counts, never a raw value.
    """

    def __init__(self, partition: int, reason: StopReason, asked: str, found: str, remedy: str = "") -> None:
        self.remedy = remedy or REASONS[reason].remedy
        super().__init__(f"partition {partition} stopped ({reason}): expected {asked}; found {found}. {self.remedy}")
        self.partition = partition
        self.reason = reason
        self.asked = asked
        self.found = found

    @property
    def fields(self) -> dict[str, str | int]:
        """The fields of a JSON log line that describe this error."""
        texts = {"reason": self.reason, "asked": self.asked, "found": self.found, "remedy": self.remedy}
        return {"partition": self.partition, **texts}


# The id was taken over or expired, or the brokers forgot it: a new producer can fix these cases. Illegal state: a
# rebalance took the partition away during the takeover, and will end it. Time-out: a page waited longer than aiokafka
# does (40 s) for the page before it. The brokers may answer by now, but aiokafka does not call this error retriable.
_REOPENABLE = (
    errors.KafkaTimeoutError,
    errors.ProducerFenced,
    errors.InvalidProducerEpoch,
    errors.InvalidProducerIdMapping,
    errors.UnknownProducerId,
    errors.InvalidTxnState,
    errors.OutOfOrderSequenceNumber,
    errors.IllegalStateError,
)


def can_reopen(error: BaseException | None) -> bool:
    """Return whether taking over the partition again can fix the error.

    The causes of the error are checked too, because aiokafka wraps some errors in a general one.
    """
    if error is None or isinstance(error, PartitionStoppedError):
        return False
    if isinstance(error, DamagedCopyError) or (isinstance(error, LocalStateError) and error.passing):
        return True
    if isinstance(error, errors.KafkaError) and (isinstance(error, _REOPENABLE) or error.retriable):
        return True
    return can_reopen(error.__cause__)


def stopping(partition: int, error: Exception) -> PartitionStoppedError:
    """Return the error as the reason why a partition stops."""
    if isinstance(error, PartitionStoppedError):
        return error
    found = loggable(error)
    if isinstance(error, LookupError | LostCountersError):
        return PartitionStoppedError(partition, "state-damaged", "whole rows in the state table", found)
    if isinstance(error, UnreadableBatchError):
        return PartitionStoppedError(partition, "batch-unreadable", error.asked, error.found)
    if unauthorized(error):
        return PartitionStoppedError(partition, "not-authorized", "what a worker needs from the brokers", found)
    if isinstance(error, DamagedCopyError | LocalStateError):
        local: StopReason = "local-state" if isinstance(error, DamagedCopyError) else error.reason
        return PartitionStoppedError(partition, local, f"local state in {error.path}", error.found)
    is_kafka = isinstance(error, errors.KafkaError | OSError)
    if is_kafka and (limit := files_exhausted()) is not None:
        return PartitionStoppedError(partition, "file-limit", "connections to the brokers", limit)
    reason: StopReason = "transaction-failed" if is_kafka else "internal-error"
    return PartitionStoppedError(partition, reason, "a committed transaction", found)


def files_exhausted() -> str | None:
    """Return the open-file limit if this process cannot open more files or sockets, otherwise None."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        if error.errno in NO_FILES:
            return f"{error.strerror} ({file_limit()})"
    return None


def file_limit() -> str:
    """Return a sentence that states the limit of open files."""
    return f"this process may open {resource.getrlimit(resource.RLIMIT_NOFILE)[0]}"
