"""Follows landmark.releases in a consumer group and prints one line per release. Needs aiokafka.

    python consume.py [BOOTSTRAP [TOPIC [GROUP]]]

Each release is handled at least once: its offset is committed after it has been handled. After a crash the last
releases arrive again, so use series and timestamp, which are unique, as the key wherever you store them.
"""

import asyncio
import sys
from contextlib import suppress

from aiokafka import AIOKafkaConsumer

from release import Approximated, Perturbed, Release, Unknown, Withheld, parse


def handle(release: Release) -> None:
    """Handle a release; the application's own work goes here."""
    place = f"{release.series}\t{release.timestamp.isoformat()}"
    match release:
        case Perturbed(value=value, scale=scale):
            noise = f"{scale:.6g}" if isinstance(scale, float) else scale
            print(f"{place}\tperturbed\t{value}\tscale {noise}", flush=True)
        case Approximated(value=value, source=source):
            print(f"{place}\tapproximated\t{value}\tfrom {source.isoformat()}", flush=True)
        case Withheld():
            print(f"{place}\twithheld", flush=True)
        case Unknown(decision=decision):
            print(f"{place}\tunknown\t{decision}", flush=True)


async def consume(
    bootstrap: str = "127.0.0.1:9092", topic: str = "landmark.releases", group: str = "releases-example"
) -> None:
    """Handle releases forever, starting where the group stopped."""
    async with AIOKafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=group,
        isolation_level="read_committed",  # what a crashed worker did not commit is no release
        auto_offset_reset="earliest",  # a new group begins with the first release
        enable_auto_commit=False,
    ) as consumer:
        while True:
            for records in (await consumer.getmany(timeout_ms=1_000)).values():
                for record in records:
                    handle(parse(record.value))
            await consumer.commit()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(consume(*sys.argv[1:]))
