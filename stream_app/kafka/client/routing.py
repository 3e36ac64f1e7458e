"""Which partition a series lies on, and the context of a worker, which checks it."""

from collections.abc import Callable
from functools import lru_cache

from aiokafka.partitioner import murmur2

from stream_app.deciding.context import Context
from stream_app.setup import keyfile
from stream_app.setup.configuration import context_of
from stream_app.setup.settings import Settings

_CACHED_KEYS = 100_000


def router(partitions: int) -> Callable[[bytes], int]:
    """Return what Kafka's default partitioner does with a key; cached, since computing it costs more."""

    @lru_cache(maxsize=_CACHED_KEYS)
    def partition_of(key: bytes) -> int:
        return (int(murmur2(key)) & 0x7FFFFFFF) % partitions

    return partition_of


def load_context(settings: Settings) -> Context:
    """Return the context of a worker.

    Raises:
        InvalidSettingsError: with every fault of the default policies.
        KeyFileError: if the key file cannot be used.
    """
    keys = keyfile.load(settings.key_file, settings.key_epoch_ms)
    return context_of(settings, keys, router(settings.partitions))
