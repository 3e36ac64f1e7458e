"""Faust's state table: RocksDB stores with a shared memory budget, written and recovered in bulk."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, cast

import faust
import rocksdict
from faust.stores import rocksdb
from faust.types import TP

from stream_app.kafka.brokers import DamagedCopyError, LocalStateError
from stream_app.kafka.faust import localcopy
from stream_app.setup.settings import Settings

_KEY = itemgetter(0)
_INCOMING = "incoming"
"""The file name of a table while it is being built, until it is ingested."""
_FEWEST_LOADED = 1024
"""The smallest number of rows for which a separate table is worthwhile."""
_FILES_MERGED = 8
"""The number of flushed memtables merged at once: twice RocksDB's default, to rewrite rows less often."""
_BLOOM_BITS = 10  # about 1 % false positives: a new series rarely reads a block


class MemoryBudget:
    """One cache for all of a worker's databases; memtables count towards the cache and may fill half of it."""

    def __init__(self, settings: Settings) -> None:
        total = settings.rocksdb_budget_bytes
        self.write_buffer_bytes = max(1 << 20, min(16 << 20, total // 8))
        self.cache = rocksdict.Cache(total)
        stall = False  # writes do not wait for memory
        new = rocksdict.WriteBufferManager.new_write_buffer_manager_with_cache
        self.buffers = new(total // 2, stall, self.cache)


class _Options(rocksdb.RocksDBOptions):
    """Faust's options, except for memory: Faust's defaults allow gigabytes for every partition."""

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
        options.set_disable_auto_compactions(True)
        options.set_level_zero_file_num_compaction_trigger(_FILES_MERGED)
        # Blocks are as small as with Snappy, the default, but faster to compress and decompress; Snappy blocks stay
        # readable.
        options.set_compression_type(rocksdict.DBCompressionType.lz4())
        options.set_block_based_table_factory(table)
        return options


class StateStore(rocksdb.Store):
    """The RocksDB databases of the state, one per partition; keys and values are raw bytes."""

    def __init__(self, *arguments: Any, budget: MemoryBudget, **named: Any) -> None:
        super().__init__(*arguments, driver="rocksdict", **named)
        self.rocksdb_options = _Options(budget)
        self._faults: dict[int, localcopy.CopyFault] = {}

    def reopen(self, partition: int) -> DamagedCopyError | None:
        """Open the database of a partition; if it is damaged, discard it and return the error.

        Raises `LocalStateError` if the database cannot be opened or discarded, or if a new one is damaged too.
        """
        fault = self._faults.pop(partition, None)
        if fault is None:
            try:
                self.offset(partition)
            except DamagedCopyError as damage:
                fault = self._faults.pop(partition, damage)
            else:
                return None
        self.release(partition)
        if isinstance(fault, LocalStateError):
            self.offset(partition)
            return None
        self.discard(partition)
        try:
            self.offset(partition)
        except DamagedCopyError as damage:
            raise LocalStateError("local-state", damage.path, f"a new copy cannot be created: {damage.found}") from None
        return fault

    def read(self, partition: int, key: bytes) -> bytes | None:
        """Return the value at ``key``."""
        return cast("bytes | None", self._asked(partition, lambda database: database.get(key)))

    def read_all(self, partition: int, keys: Sequence[bytes]) -> Sequence[bytes | None]:
        """Return the value at each of the given keys."""
        return cast("Sequence[bytes | None]", self._asked(partition, lambda database: database.get(list(keys))))

    def scan(self, partition: int, prefix: bytes) -> Iterator[bytes]:
        """Yield all values whose keys begin with ``prefix``."""
        found = self._asked(partition, lambda database: database.iter())
        found.seek(prefix)
        try:
            while found.valid() and found.key().startswith(prefix):
                yield found.value()
                found.next()
            # RocksDB's iterators end at damage just as they do after the last key; only their status shows the
            # difference.
            self._asked(partition, lambda _: found.status())
        finally:
            found = None  # the error keeps this frame, whose iterator keeps the database open

    def _open_for_partition(self, partition: int) -> Any:
        """Open a database; raise `HoleError` if it has the newest offset but lacks some of its rows."""
        path = self.partition_path(partition)
        localcopy.check_writes(path)
        before = localcopy.tables_of(path)
        database = super()._open_for_partition(partition)
        lost = before - {Path(file["name"]).name for file in database.live_files()}
        if lost:
            database.close()
            raise localcopy.HoleError(f"the MANIFEST does not list {', '.join(sorted(lost))}")
        localcopy.mark_open(path)
        database.set_options({"disable_auto_compactions": "false"})
        return database

    def _asked(self, partition: int, ask: Callable[[Any], Any]) -> Any:
        """Return the result of ``ask``; after an error, raise that error again until the database is reopened."""
        known = self._faults.get(partition)
        if known is not None:
            raise known
        try:
            return ask(self._db_for_partition(partition))
        except Exception as error:  # noqa: BLE001 (rocksdict raises no other)
            fault = self._faults[partition] = localcopy.fault_of(self.partition_path(partition), error)
        raise fault

    def offset(self, partition: int) -> int | None:
        """Return the last changelog offset that the database includes, or None."""
        value = self.read(partition, self.offset_key)
        return None if value is None else int(value)

    def write(self, partition: int, rows: Iterable[tuple[bytes, bytes | None]], offset: int | None) -> None:
        """Write rows and the changelog offset in one atomic batch; None deletes a row, and a key's last row wins."""
        batch = rocksdict.WriteBatch(raw_mode=True)
        put, delete = batch.put, batch.delete
        # Rows sorted by key are adjacent in the memtable: writing and flushing cost a fifth less. The sort is stable,
        # so the last row of a key stays last.
        for key, value in sorted(rows, key=_KEY):
            if value is None:
                delete(key)
            else:
                put(key, value)
        if offset is not None:
            put(self.offset_key, b"%d" % offset)
        self._asked(partition, lambda database: database.write(batch))

    def load(self, partition: int, rows: Mapping[bytes, bytes | None], offset: int) -> None:
        """Write as `write` does; many rows become a separate table on disk, bypassing the log and the memtable."""
        if len(rows) < _FEWEST_LOADED:
            self.write(partition, rows.items(), offset)
            return
        place = self.partition_path(partition) / _INCOMING

        def ask(database: Any) -> None:
            table = rocksdict.SstFileWriter(options=self.rocksdb_options.as_options())
            table.open(str(place))
            last = {**rows, self.offset_key: b"%d" % offset}
            for key in sorted(last):
                value = last[key]
                if value is None:
                    del table[key]
                else:
                    table[key] = value
            table.finish()
            move = rocksdict.IngestExternalFileOptions()
            move.set_move_files(True)
            database.ingest_external_file([str(place)], move)

        self._asked(partition, ask)

    def discard(self, partition: int) -> None:
        """Delete the local copy of a partition; raises `LocalStateError` if it cannot be deleted."""
        self.release(partition)
        localcopy.remove(self.partition_path(partition))

    def release(self, partition: int) -> None:
        """Close the database of a partition, so that another process can open it."""
        self._faults.pop(partition, None)
        database = self._dbs.pop(partition, None)
        if database is not None:
            try:
                database.close()
                localcopy.mark_closed(self.partition_path(partition))
            except Exception as error:  # noqa: BLE001 (rocksdict raises no other)
                # Unflushed rows are in the write-ahead log or in the changelog; the next start handles them.
                fault = localcopy.fault_of(self.partition_path(partition), error)
                localcopy.logger.warning("partition %d: %s", partition, fault)

    async def assign_partitions(self, table: Any, tps: set[TP], generation_id: int = 0) -> None:
        """Open nothing: each partition opens its own database, whose faults must not end the worker."""

    def persisted_offset(self, tp: TP) -> int | None:
        """Return a copy's changelog offset for Faust, or None if the copy has no offset or cannot be read."""
        try:
            return self.offset(tp.partition)
        except (DamagedCopyError, LocalStateError):
            return None

    def bytes_on_disk(self) -> int:
        """Return the total size of the files of all open databases."""
        folders = [self.partition_path(partition) for partition in list(self._dbs)]
        return sum(file.stat().st_size for folder in folders for file in folder.glob("*.sst"))

    def revoke_partitions(self, table: Any, tps: set[TP]) -> None:
        """Close the databases of revoked partitions; Faust leaves this to the garbage collector."""
        for tp in tps:
            if tp.topic in table.changelog_topic.topics:
                self.release(tp.partition)

    async def stop(self) -> None:
        """Close every database."""
        for partition in list(self._dbs):
            self.release(partition)


class StateTable(faust.Table[bytes, bytes]):
    """The table of series rows; only recovery uses Faust, while reads and writes go directly to the store."""

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
