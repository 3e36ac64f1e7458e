"""What an error means for a partition: open its producer again, or stop."""

from aiokafka import errors

from stream_app.deciding.collection import LostCountersError
from stream_app.kafka.client.refusal import unauthorized
from stream_app.kafka.client.unreadable import UnreadableBatchError
from stream_app.kafka.evidence.stops import PartitionStoppedError
from stream_app.kafka.faust.localcopy import DamagedCopyError, LocalStateError, files_exhausted
from stream_app.monitoring.logs import loggable

# The id was taken over, or expired, or the brokers forgot it: a new producer can mend that. Illegal state: a rebalance
# took the partition away while it was taken over, and will end it.
_REOPENABLE = (
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
    if isinstance(error, LookupError | LostCountersError):
        return PartitionStoppedError(
            partition, "state-damaged", asked="whole rows in the state table", found=loggable(error)
        )
    if isinstance(error, UnreadableBatchError):
        return PartitionStoppedError(partition, "batch-unreadable", asked=error.asked, found=error.found)
    if unauthorized(error):
        return PartitionStoppedError(
            partition, "not-authorized", asked="what a worker needs of the brokers", found=loggable(error)
        )
    if isinstance(error, DamagedCopyError | LocalStateError):
        reason = "local-state" if isinstance(error, DamagedCopyError) else error.reason
        return PartitionStoppedError(partition, reason, asked=f"local state in {error.path}", found=error.found)
    is_kafka = isinstance(error, errors.KafkaError | OSError)
    if is_kafka and (limit := files_exhausted()) is not None:
        return PartitionStoppedError(partition, "file-limit", asked="connections to the brokers", found=limit)
    return PartitionStoppedError(
        partition,
        "transaction-failed" if is_kafka else "internal-error",
        asked="a committed transaction",
        found=loggable(error),
    )
