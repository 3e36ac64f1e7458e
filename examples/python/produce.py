"""Sends observations, JSON Lines from standard input, to landmark.events. Needs aiokafka.

    python produce.py [BOOTSTRAP [TOPIC [SEPARATOR]]] < observations.jsonl

The key is the series id in UTF-8, or the part before the worker's `member_separator` if it has one. aiokafka's default
partitioner is murmur2, as in Java. If the key or the partitioner is different, the worker rejects the record as
`misrouted`.
"""

import asyncio
import json
import sys
from collections.abc import Iterable
from typing import TypedDict

from aiokafka import AIOKafkaProducer


class Observation(TypedDict):
    """One sensitive item of a series."""

    series: str
    timestamp: int  # milliseconds since 1970-01-01T00:00:00Z
    value: float | str | bool | dict[str, int] | dict[str, float]  # as the kind of the series' policy wants it


async def produce(
    observations: Iterable[Observation],
    bootstrap: str = "127.0.0.1:9092",
    topic: str = "landmark.events",
    separator: str | None = None,
) -> int:
    """Send all observations in order; return how many were acknowledged by all replicas."""
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all", enable_idempotence=True) as producer:
        sent = [
            await producer.send(topic, key=key_of(found["series"], separator), value=json.dumps(found).encode())
            for found in observations
        ]
        await asyncio.gather(*sent)  # raises where a record was not acknowledged
        return len(sent)


def key_of(series: str, separator: str | None) -> bytes:
    """Return the record key of a series: its member, if a separator names members."""
    return (series.split(separator, maxsplit=1)[0] if separator else series).encode()


if __name__ == "__main__":
    lines = (json.loads(line) for line in sys.stdin)
    print(asyncio.run(produce(lines, *sys.argv[1:])), "sent")
