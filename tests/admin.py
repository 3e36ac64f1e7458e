"""The administration of a real broker."""

import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from io import BytesIO
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient

from tests.patience import ANSWER_SECONDS


@asynccontextmanager
async def administration(**arguments: Any) -> AsyncIterator[AIOKafkaAdminClient]:
    """Connect to it; aiokafka's own client is not a context manager."""
    admin = AIOKafkaAdminClient(**arguments)
    await admin.start()
    try:
        yield admin
    finally:
        await admin.close()


def committed(servers: str, group: str, topic: str) -> dict[int, tuple[int, str]]:
    """Return the offset and metadata that a group committed per partition of a topic, from its coordinator.

    It sends only Kafka's OffsetFetch request, version 2, because waiting tests ask often and a client would first ask
    for all topics of the cluster. A group without a coordinator has committed nothing yet.

    Raises:
        OSError: if no broker answers.
    """
    name, silent = group.encode(), OSError("no broker is named")
    request = struct.pack(">hhihh", 9, 2, 1, -1, len(name)) + name + struct.pack(">i", -1)
    reached = False
    for host, _, port in (server.rpartition(":") for server in servers.split(",")):
        try:
            with socket.create_connection((host, int(port)), ANSWER_SECONDS) as connection:
                connection.sendall(struct.pack(">i", len(request)) + request)
                read = connection.makefile("rb").read
                found, error = _offsets(BytesIO(read(_number(read, "i"))).read, topic)
        except OSError as failure:
            silent = failure
            continue
        reached = True
        if error == 0:
            return found
        assert error in _NO_COORDINATOR, error
    if not reached:
        raise silent
    return {}


_NO_COORDINATOR = (14, 15, 16)
"""It is loading the group, does not exist yet, or is another broker."""


def _offsets(read: Callable[[int], bytes], wanted: str) -> tuple[dict[int, tuple[int, str]], int]:
    """Read an answer: the committed offsets, and the error code of the group."""
    found = {}
    read(4)  # the request's number
    for _ in range(_number(read, "i")):
        topic = read(_number(read, "h")).decode()
        for _ in range(_number(read, "i")):
            partition, offset = _number(read, "i"), _number(read, "q")
            metadata = read(max(0, _number(read, "h"))).decode()
            assert _number(read, "h") == 0, (topic, partition)
            if topic == wanted and offset >= 0:
                found[partition] = offset, metadata
    return found, _number(read, "h")


def _number(read: Callable[[int], bytes], form: str) -> int:
    if len(data := read(struct.calcsize(f">{form}"))) < struct.calcsize(f">{form}"):
        raise ConnectionError("the broker hung up")
    return int(struct.unpack(f">{form}", data)[0])
