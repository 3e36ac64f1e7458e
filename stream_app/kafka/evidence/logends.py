"""Reading where a partition's logs begin and end, and what their last records are of."""

from typing import Any

from stream_app.deciding.decider import INPUT_HEADER
from stream_app.kafka.client.topics import TopicNames
from stream_app.kafka.evidence.ends import NOTHING, Answered, Bounds, Ends
from stream_app.kafka.evidence.foreign import entry_of, input_offset
from stream_app.kafka.owner.brokers import Reader


async def ends_of(reader: Reader, names: TopicNames, partition: int) -> Ends:
    """Return the bounds of a partition's logs; ``reader`` reads uncommitted records, or ends would hide behind one."""
    return Ends(
        *[Bounds(*await reader.bounds(topic, partition)) for topic in (names.changelog, names.ledger, names.releases)]
    )


async def answered_of(reader: Reader, names: TopicNames, partition: int) -> Answered:
    """Return what input the last outputs came of; ``reader`` reads committed records.

    Outputs are written in the order of their input, so the last record of a log has the highest.
    """
    entry, release, reject = [
        _input(await reader.last(topic, partition, _answers)) for topic in (names.ledger, names.releases, names.rejects)
    ]

    def settles(record: Any) -> bool:
        """Tell whether a record is such an entry."""
        if not _answers(record):
            return False
        entry = entry_of(record)
        return _input(record) <= release or entry["entry"] == "release"

    decided = await reader.last(names.ledger, partition, settles) if entry > release else None
    return Answered(entry, _input(decided), release, reject)


def _answers(record: Any) -> bool:
    return any(name == INPUT_HEADER for name, _ in record.headers)


def _input(record: Any | None) -> int:
    return NOTHING if record is None else input_offset(record)
