"""The consumer group seen from outside: who is in it, and how far it has come."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import GroupCoordinatorNotAvailableError, GroupLoadInProgressError

from stream_app.kafka.client.security import client_arguments
from stream_app.setup.settings import Settings

_ATTEMPTS = 60
_PAUSE_SECONDS = 0.5


async def members(settings: Settings) -> int:
    """Return how many workers the group has now."""
    async with _admin(settings) as admin:
        await _coordinator(admin, settings.application)
        (answer,) = await admin.describe_consumer_groups([settings.application])
    return sum(len(group[5]) for group in answer.groups)


async def committed(settings: Settings, topic: str) -> Mapping[int, int]:
    """Return the group's offset of each partition of ``topic`` that has one."""
    async with _admin(settings) as admin:
        await _coordinator(admin, settings.application)
        offsets = await admin.list_consumer_group_offsets(settings.application)
    return {tp.partition: found.offset for tp, found in offsets.items() if tp.topic == topic and found.offset >= 0}


@asynccontextmanager
async def _admin(settings: Settings) -> AsyncIterator[AIOKafkaAdminClient]:
    admin = AIOKafkaAdminClient(**client_arguments(settings))
    await admin.start()
    try:
        yield admin
    finally:
        await admin.close()


async def _coordinator(admin: AIOKafkaAdminClient, group: str) -> None:
    """Wait for the group's coordinator: a new cluster makes the topic it lives in at the first question."""
    for attempt in range(_ATTEMPTS):
        try:
            await admin.find_coordinator(group)
        except (GroupCoordinatorNotAvailableError, GroupLoadInProgressError):
            if attempt == _ATTEMPTS - 1:
                raise
            await asyncio.sleep(_PAUSE_SECONDS)
        else:
            return
