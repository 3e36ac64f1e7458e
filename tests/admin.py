"""The administration of a real broker."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient


@asynccontextmanager
async def administration(**arguments: Any) -> AsyncIterator[AIOKafkaAdminClient]:
    """Connect to it; aiokafka's own client is no context."""
    admin = AIOKafkaAdminClient(**arguments)
    await admin.start()
    try:
        yield admin
    finally:
        await admin.close()
