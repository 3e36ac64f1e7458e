"""Why a partition stops: what was wanted, what was found, what the operator can do; and which error means what."""

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
"""What the system says when this process, or the machine, can open no more files."""

_RECOVER = (
    "Stop the workers, run `landmark-stream recover`, which rebuilds the state from ledger and releases, start them"
)

_ANEW = (
    "begin anew under another `prefix` and another `application`, with a policy of what budget is left for each series "
    "and no default policies, or budgets are spent twice: "
    + page_at("how-to/back-up-and-restore.md#begin-anew-with-what-is-left")
)

REASONS: Final[dict[StopReason, Advice]] = {
    "tail-differs": Advice(
        "the ledger holds entries of an unfinished batch, and what is recomputed for them comes out otherwise: noise "
        "key, configuration or a version that decides otherwise came since",
        "These entries may have been read. Restart with the key file, the configuration and the version of the program "
        "that wrote them; change these once this partition has gone on",
    ),
    "row-missing": Advice("the state has no row of the partition, though something was decided before", _RECOVER),
    "row-behind": Advice(
        "the state is older than the consumer group's offset, or than outputs whose input is deleted: the offset was "
        "set forward, or changelog rows are lost",
        "If somebody set the group's offset, set it back to where the state ends, or before: "
        + page_at("operating.md#the-groups-offsets")
        + ". Else stop the workers, run `landmark-stream recover`, which rebuilds the state from ledger and releases "
        "and names the input that it would pass over, and start them",
    ),
    "changelog-short": Advice(
        "the changelog begins later than it must, ends before what was written of it, or was deleted and made again: "
        "rows are lost, and series without one would begin anew with their whole budget",
        f"{_RECOVER}. If its `cleanup.policy` is not `compact` alone (`topics --check` tells), set that first, or rows "
        "are lost again. If the local state of a worker is newer than the changelog, delete its `data_folder` before "
        "it starts, or it stops again",
    ),
    "state-damaged": Advice("a row cannot be read, or contradicts what is read beside it", _RECOVER),
    "input-lost": Advice(
        "events were deleted before they were decided, or contributions or readings of steps still open, whose rest "
        "would pass for the whole",
        "Run `landmark-stream recover --accept-lost-input`, which goes on behind them, adopts what an aborted batch "
        "wrote of them, since it may have been read, and gives such steps up; raise the retention of the events",
    ),
    "input-short": Advice(
        "the events topic ends before what was decided of it, or lost its end and has grown since: events are lost, or "
        "it is another topic than the outputs tell of, and later input would be skipped",
        f"Restore all topics from one backup; if there is none, {_ANEW}",
    ),
    "input-skipped": Advice(
        "told by `recover`: the consumer group's offset lies behind records that no output names: somebody set it "
        "forward, and they would never be decided",
        "Set the group's offset back to where the outputs end, and run `landmark-stream recover` again: "
        + page_at("operating.md#the-groups-offsets")
        + ". To give these records up, `recover --accept-skipped-input` passes "
        "them over, and gives up the steps that may have been open",
    ),
    "release-lost": Advice(
        "told by `recover`: the worker died between a ledger entry and its release, and their input is gone",
        "Restore all topics from one backup. If there is none, `recover --accept-lost-input --accept-lost-releases` "
        "gives the step up: its epsilon stays spent, and nothing is published for it",
    ),
    "ledger-short": Advice(
        "the ledger begins later than it must, or ends before what the state, a signed head or the releases know of "
        "it: entries are lost",
        "Restore the ledger topic from a backup; without it nobody can audit what was spent. Where its beginning is "
        "gone, `landmark-stream recover` goes on if heads or releases tell that no series is missing: "
        + page_at("how-to/back-up-and-restore.md#logs-that-lost-an-end"),
    ),
    "releases-short": Advice(
        "releases that the state or the ledger knows of are missing, at the end of their log or before later ones: "
        "whoever reads them later misses steps",
        "Run `landmark-stream recover`. If the last releases are missing and their input is kept, the next worker "
        "publishes them again. If releases are missing before later ones, `recover` names the first: nobody can "
        "publish it in its place. Then, or if the input is gone, restore the releases topic from a backup, or run "
        "`recover --accept-lost-releases`. It gives up the steps whose releases are missing: their epsilon stays spent",
    ),
    "rejects-short": Advice(
        "rejects are missing, at the end of their log or before later ones: whoever sent these records never learns "
        "that they were refused",
        "Run `landmark-stream recover`. If the last rejects are missing and their input is kept, the next worker "
        "publishes them again. If rejects are missing before later ones, `recover` names the first input that must "
        "have been rejected: nobody can publish its reject in its place. Then, or if the input is gone, restore the "
        "rejects topic from a backup, or run `recover --accept-lost-releases`, which continues without them",
    ),
    "head-damaged": Advice(
        "the last record of the heads is none that the worker signed for this partition",
        "`audit --heads` tells who is not to be trusted. Restore the topic from a backup, or delete it and make it "
        "again with `topics`: heads then begin at 1, which a witness of the old ones will show",
    ),
    "foreign-writer": Advice(
        "the outputs are another application's: its claim rules the ledger, or records lie there that this application "
        "did not write; both would decide every step, and spend its budget twice",
        "Give each `application` a `prefix` of its own. Where another one wrote by mistake, stop it for good; "
        "`landmark-stream audit` tells whether both decided the same step, and if it holds, `recover` goes on. A "
        "record that is no output at all it names, and goes no further: restore that topic from a backup",
    ),
    "topic-replaced": Advice(
        "the events topic was deleted and made again: offsets of the old one mean nothing in it",
        f"Restore all topics from one backup; if there is none, {_ANEW}",
    ),
    "partition-count": Advice(
        "topics or settings have another number of partitions than that with which series were placed",
        "If only the setting `partitions` changed, set it back. If the events topic got more partitions, or you want "
        "more, move each series, with what is left of its budget and what waits undecided, to new topics: "
        + page_at("how-to/more-partitions.md"),
    ),
    "separator-changed": Advice(
        "the setting `member_separator` is not the one by which series were placed and members' budgets kept: series "
        "would lie elsewhere, or claim again",
        f"Set it back, in all workers. If people are to have one budget from now on, {_ANEW}",
    ),
    "key-changed": Advice(
        "the partition was last written under another noise key than this worker's: a new key was given to it, or its "
        "key file is foreign, and nobody keeps, hands out or erases that key as they should",
        "Give this worker the key file with the fingerprint that was wanted. If a new key is meant, stop all workers, "
        "give each the new file, and start them with `landmark-stream worker --accept-new-key` until each partition is "
        "written under it: " + page_at("how-to/keys.md#rotate"),
    ),
    "batch-unreadable": Advice(
        "a batch of the input, the changelog or the ledger cannot be decoded: it is damaged, or the library of its "
        "codec is missing here; what lies before it is decided",
        "Where the library is missing, install `cramjam` and restart. Else restore the topic from a whole replica or a "
        "backup. Input of which there is neither: delete the records up to behind the batch (kafka-delete-records), "
        "then do as for input-lost",
    ),
    "not-authorized": Advice(
        "the brokers' ACLs refuse what a worker needs; nothing of the batch counts",
        "Allow it: `landmark-stream topics --acls worker=PRINCIPAL` prints the commands; then restart the worker",
    ),
    "transaction-failed": Advice(
        "a transaction was not committed, and a new producer did not mend it",
        "Nothing of the batch counts. Mend the cause and restart the worker",
    ),
    "transaction-open": Advice(
        "told by `recover`: a log holds a transaction that its producer will never end: the log lost the marker, or a "
        "late request ended what came before, and the producer's id has expired since. Readers of committed records "
        "come no further",
        "Abort it: `kafka-transactions.sh --bootstrap-server HOST:PORT abort` with the topic, partition and start "
        "offset that are named. Then run `recover` again",
    ),
    "disk-full": Advice(
        "the disk of `data_folder`, or this user's share of it, is full; the worker ends, so that another one takes "
        "its partitions",
        "Free space on that disk, or set `data_folder` to a larger one; the folder can be deleted while the worker is "
        "away, the changelog rebuilds it",
    ),
    "file-limit": Advice(
        "this process, or its machine, can open no more files and connections; the worker ends, so that another one "
        "takes its partitions",
        "Raise the limit (`ulimit -n`, `LimitNOFILE=`): 1,024 and 300 more for each partition are enough",
    ),
    "local-state": Advice(
        "the local copy of the rows cannot be opened, or is damaged and cannot be removed; the worker ends, so that "
        "another one takes its partitions",
        "Delete the folder that is named, or make it writable for the worker's user; nothing is lost by that, the "
        "changelog rebuilds it. If it comes back, the disk is failing",
    ),
    "internal-error": Advice(
        "a fault of the program; nothing of the batch counts", "Report this as a bug; a restart tries again"
    ),
}
"""Every reason with its meaning and its remedy."""


class PartitionStoppedError(LoggableError):
    """A partition that must not go on; its input stays unacknowledged and other partitions are not affected.

    ``reason`` is a short code for metrics and logs; the sentences hold offsets, ids and counts, never a raw value.
    """

    def __init__(self, partition: int, reason: StopReason, asked: str, found: str, remedy: str = "") -> None:
        self.remedy = remedy or REASONS[reason].remedy
        super().__init__(f"partition {partition} stopped ({reason}): wanted {asked}; found {found}. {self.remedy}")
        self.partition = partition
        self.reason = reason
        self.asked = asked
        self.found = found

    @property
    def fields(self) -> dict[str, str | int]:
        """What a line of the log in JSON tells of it in members of their own."""
        texts = {"reason": self.reason, "asked": self.asked, "found": self.found, "remedy": self.remedy}
        return {"partition": self.partition, **texts}


# The id was taken over, or expired, or the brokers forgot it: a new producer can mend that. Illegal state: a rebalance
# took the partition away while it was taken over, and will end it. Time-out: a page waited for the one before it for
# longer than aiokafka does (40 s), and the brokers may answer by now; aiokafka does not call that retriable.
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
    """Tell whether taking the partition over anew can mend it; aiokafka wraps some errors into a plain one."""
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
        return PartitionStoppedError(partition, "not-authorized", "what a worker needs of the brokers", found)
    if isinstance(error, DamagedCopyError | LocalStateError):
        local: StopReason = "local-state" if isinstance(error, DamagedCopyError) else error.reason
        return PartitionStoppedError(partition, local, f"local state in {error.path}", error.found)
    is_kafka = isinstance(error, errors.KafkaError | OSError)
    if is_kafka and (limit := files_exhausted()) is not None:
        return PartitionStoppedError(partition, "file-limit", "connections to the brokers", limit)
    reason: StopReason = "transaction-failed" if is_kafka else "internal-error"
    return PartitionStoppedError(partition, reason, "a committed transaction", found)


def files_exhausted() -> str | None:
    """Return the limit when this process can open no more files, sockets among them; None while it can."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        if error.errno in NO_FILES:
            return f"{error.strerror} ({file_limit()})"
    return None


def file_limit() -> str:
    """Say how many files this process may open."""
    return f"this process may open {resource.getrlimit(resource.RLIMIT_NOFILE)[0]}"
