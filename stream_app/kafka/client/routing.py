"""How series are assigned to partitions, and the worker context that checks the assignment."""

from collections.abc import Callable
from functools import lru_cache

from aiokafka.partitioner import murmur2

from stream_app.deciding.context import Context
from stream_app.setup import keyfile
from stream_app.setup.configuration import context_of
from stream_app.setup.settings import Settings

_CACHED_KEYS = 100_000
_WORKERS_KEYS = 4_096
"""The number of keys that a worker caches: it looks up each series once, and a key takes 200 bytes."""


def router(partitions: int, cached_keys: int = _CACHED_KEYS) -> Callable[[bytes], int]:
    """Return Kafka's default partitioner as a function, with a cache because a lookup costs less than the hash."""

    @lru_cache(maxsize=cached_keys)
    def partition_of(key: bytes) -> int:
        return (int(murmur2(key)) & 0x7FFFFFFF) % partitions

    return partition_of


def load_context(settings: Settings) -> Context:
    """Return a worker's context; raises `InvalidSettingsError` with all policy errors, or `KeyFileError`."""
    keys = keyfile.load(settings.key_file, settings.key_epoch_ms)
    return context_of(settings, keys, router(settings.partitions, _WORKERS_KEYS))
