"""The state table: Faust's, its RocksDB stores under one memory budget, written and recovered in bulk."""

import shutil
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import faust
import rocksdict
from faust.stores import rocksdb
from faust.types import TP

from stream_app.settings import Settings

PARTITION_KEY = b"\x00partition"

_BLOOM_BITS = 10  # about one false positive in a hundred: a new series seldom reads a block


class MemoryBudget:
    """One cache and one bound of write buffers for all databases of a worker, whatever their number."""

    def __init__(self, settings: Settings) -> None:
        """Take the budget of the settings: memtables may fill half of it, and are charged to the cache."""
        total = settings.rocksdb_budget_bytes
        self.write_buffer_bytes = max(1 << 20, min(16 << 20, total // 8))
        self.cache = rocksdict.Cache(total)
        self.buffers = rocksdict.WriteBufferManager.new_write_buffer_manager_with_cache(
            total // 2,
            False,  # noqa: FBT003 (do not stall writes; rocksdict names no argument)
            self.cache,
        )


class _Options(rocksdb.RocksDBOptions):
    """Faust's options, but for the memory, of which its defaults allow gigabytes for every partition."""

    def __init__(self, budget: MemoryBudget) -> None:
        super().__init__(use_rocksdict=True)
        self._budget = budget

    def as_options(self) -> rocksdict.Options:
        table = rocksdict.BlockBasedOptions()
        table.set_bloom_filter(_BLOOM_BITS, block_based=False)
        table.set_block_cache(self._budget.cache)
        table.set_cache_index_and_filter_blocks(True)
        options = rocksdict.Options(raw_mode=True)
        options.create_if_missing(True)  # noqa: FBT003
        options.set_max_open_files(256)
        options.set_write_buffer_manager(self._budget.buffers)
        options.set_write_buffer_size(self._budget.write_buffer_bytes)
        options.set_max_write_buffer_number(3)
        options.set_keep_log_file_num(2)
        options.set_block_based_table_factory(table)
        return options


class RowStore(Protocol):
    """What a partition needs of the place where its rows are kept; `StateStore` says what each call does."""

    def read(self, partition: int, key: bytes) -> bytes | None:
        """Return the value at ``key``."""

    def scan(self, partition: int, prefix: bytes) -> Iterator[bytes]:
        """Yield all values whose keys begin with ``prefix``."""

    def offset(self, partition: int) -> int | None:
        """Return the changelog offset up to which, itself included, the rows hold the changelog."""

    def write(self, partition: int, rows: Iterable[tuple[bytes, bytes | None]], offset: int | None) -> None:
        """Write rows and changelog offset; a value of None deletes."""

    def discard(self, partition: int) -> None:
        """Forget the rows of a partition."""


class StateStore(rocksdb.Store):
    """The RocksDB databases of the state, one a partition, keys and values raw bytes."""

    def __init__(self, *arguments: Any, budget: MemoryBudget, **named: Any) -> None:
        """Open nothing yet."""
        super().__init__(*arguments, driver="rocksdict", **named)
        self.rocksdb_options = _Options(budget)

    def read(self, partition: int, key: bytes) -> bytes | None:
        """Return the value at ``key``."""
        value: bytes | None = self._db_for_partition(partition).get(key)
        return value

    def scan(self, partition: int, prefix: bytes) -> Iterator[bytes]:
        """Yield all values whose keys begin with ``prefix``."""
        for key, value in self._db_for_partition(partition).items(from_key=prefix):
            if not key.startswith(prefix):
                return
            yield value

    def offset(self, partition: int) -> int | None:
        """Return the changelog offset up to which, itself included, the database holds the changelog."""
        value = self.read(partition, self.offset_key)
        return None if value is None else int(value)

    def write(self, partition: int, rows: Iterable[tuple[bytes, bytes | None]], offset: int | None) -> None:
        """Write rows and changelog offset in one batch, all or nothing; a value of None deletes."""
        batch = rocksdict.WriteBatch(raw_mode=True)
        put, delete = batch.put, batch.delete
        for key, value in rows:
            if value is None:
                delete(key)
            else:
                put(key, value)
        if offset is not None:
            put(self.offset_key, b"%d" % offset)
        self._db_for_partition(partition).write(batch)

    def discard(self, partition: int) -> None:
        """Delete the local copy of a partition; recovery reads it from the changelog again."""
        database = self._dbs.pop(partition, None)
        if database is not None:
            database.close()
        shutil.rmtree(self.partition_path(partition), ignore_errors=True)

    def release(self, partition: int) -> None:
        """Close the database of a partition, so that another process can open it."""
        database = self._dbs.pop(partition, None)
        if database is not None:
            database.close()

    def bytes_on_disk(self) -> int:
        """Return the size of all open databases' files."""
        return sum(
            file.stat().st_size
            for partition in list(self._dbs)
            for file in self.partition_path(partition).glob("*.sst")
        )

    def revoke_partitions(self, table: Any, tps: set[TP]) -> None:
        """Close what is no longer ours: Faust leaves that to the garbage collector."""
        for tp in tps:
            if tp.topic in table.changelog_topic.topics:
                self.release(tp.partition)

    async def stop(self) -> None:
        """Close every database."""
        for partition in list(self._dbs):
            self.release(partition)


class StateTable(faust.Table[bytes, bytes]):
    """The table of series rows; only recovery goes through Faust, reads and writes go to its store."""

    budget: MemoryBudget

    def _new_store_by_url(self, url: Any) -> StateStore:
        return StateStore(
            url,
            self.app,
            self,
            table_name=self.name,
            key_type=self.key_type,
            value_type=self.value_type,
            key_serializer=self.key_serializer,
            value_serializer=self.value_serializer,
            loop=self.loop,
            budget=self.budget,
        )
