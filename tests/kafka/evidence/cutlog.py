"""A broker that loses power: when it returns, the end of a partition's log is gone."""

import os
import signal
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from stream_app.localbroker.broker import STOP_SECONDS, LocalBroker

_HEADER = struct.Struct(">qi")
"""The header of a Kafka batch: base offset, and the number of bytes after these two."""
_CODEC = 0x07
"""The bits of a batch's attributes that number its codec."""
_CONTROL = 0x20
"""The bit in a batch's attributes that marks it as a transaction marker."""
_ATTRIBUTES = 21
_CHECKPOINTS = ("recovery-point-offset-checkpoint", "replication-offset-checkpoint")


class Piece(NamedTuple):
    """One batch of a log file."""

    offset: int
    position: int
    end: int
    codec: int
    control: bool


def pieces(broker: LocalBroker, topic: str, partition: int = 0) -> list[Piece]:
    """Return the batches of the only segment of a topic's partition."""
    return list(_walk(file_of(broker, topic, partition).read_bytes()))


def _walk(log: bytes) -> Iterator[Piece]:
    position = 0
    while position + _HEADER.size <= len(log):
        offset, size = _HEADER.unpack_from(log, position)
        if not size:
            return
        (attributes,) = struct.unpack_from(">h", log, position + _ATTRIBUTES)
        end = position + _HEADER.size + size
        yield Piece(offset, position, end, attributes & _CODEC, bool(attributes & _CONTROL))
        position = end


def lose_power(broker: LocalBroker, ends: Iterable[tuple[str, int]]) -> None:
    """Kill the broker and cut off partition 0 of topics, from the batch that begins at the offset onwards."""
    os.kill(broker.pid, signal.SIGKILL)
    assert broker.state.process.wait(STOP_SECONDS)
    data = broker.folder / "data"
    for topic, offset in ends:
        file = file_of(broker, topic)
        cut = [piece.position for piece in pieces(broker, topic) if piece.offset >= offset]
        assert cut, f"{topic} has nothing from offset {offset} on"
        os.truncate(file, cut[0])
        for other in file.parent.iterdir():
            # Indexes, producer snapshots and epochs tell of what is gone: the broker makes them anew.
            if other.suffix in {".index", ".timeindex", ".txnindex", ".snapshot"} or other.name.startswith("leader-"):
                other.unlink()
    for name in _CHECKPOINTS:
        (data / name).unlink(missing_ok=True)
    (data / ".kafka_cleanshutdown").unlink(missing_ok=True)


def file_of(broker: LocalBroker, topic: str, partition: int = 0) -> Path:
    """Return the file of the only segment of a topic's partition."""
    (file,) = (broker.folder / "data" / f"{topic}-{partition}").glob("*.log")
    return file
