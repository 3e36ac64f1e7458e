"""Stock Faust: one agent, a RocksDB table and two sends per event, tuned, at least once.

``python -m benchmarks.rig.stock CONFIG LAYOUT RELEASES LEDGER`` consumes the events topic of a configuration, decides
nothing and writes values of the layout's sizes. With only CONFIG it does the work of `benchmarks.peers.work` and writes
to the configuration's own topics. Its changelog topic belongs to the application id `<application>-other`.
"""

import asyncio
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import faust
from orjson import dumps, loads

from benchmarks.peers import work
from benchmarks.rig.layout import Layout
from stream_app.kafka.client.topics import TopicNames
from stream_app.setup.settings import Settings

_RAW: dict[str, Any] = {"key_type": bytes, "value_type": bytes, "key_serializer": "raw", "value_serializer": "raw"}

Answer = Callable[[Any, Any], tuple[bytes, bytes, bytes]]
"""Maps an event and the table to a release, a ledger record and the series' new row."""


def idle(layout: Layout) -> Answer:
    """Return an answer of constant bytes in the layout's sizes."""
    answer = (bytes(layout.release_bytes), bytes(layout.ledger_bytes), bytes(layout.changelog_bytes))
    return lambda _event, _table: answer


def busy(event: Any, table: Any) -> tuple[bytes, bytes, bytes]:
    """Answer like every other peer."""
    stored = table.get(event.key)
    release, entry, row = work.answer(event.value, None if stored is None else loads(stored))
    return release, entry, dumps(row)


def app_of(settings: Settings, work_of: Answer, releases: str, ledger: str) -> Any:
    """Return the app, with default settings wherever they were fastest."""
    names = TopicNames.of(settings.prefix, settings.application)
    app = faust.App(
        f"{settings.application}-other",
        broker=f"kafka://{settings.bootstrap_servers}",
        datadir=str(settings.data_folder.with_name("stock")),
        store="rocksdb://",
        topic_partitions=settings.partitions,
        topic_replication_factor=1,
        topic_disable_leader=True,
        consumer_auto_offset_reset="earliest",
        broker_commit_interval=1.0,
        broker_max_poll_records=5_000,
        stream_buffer_maxsize=16_384,
        stream_wait_empty=False,
        producer_linger=0.02,
        producer_max_batch_size=1_000_000,
        web_enabled=False,
        autodiscover=False,
    )
    table = app.Table(
        "state", key_type=bytes, value_type=bytes, partitions=settings.partitions, options={"driver": "rocksdict"}
    )
    events, released, entered = (app.topic(name, **_RAW) for name in (names.events, releases, ledger))

    async def answer(stream: Any) -> None:
        """Send two records and write the table for every event."""
        async for event in stream.events():
            release, entry, row = work_of(event, table)
            table[event.key] = row
            await entered.send(key=event.key, value=entry)
            await released.send(key=event.key, value=release)

    app.agent(events, name="stock")(answer)
    return app


async def _run(app: Any) -> None:
    await app.start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    config, *words = sys.argv[1:]
    logging.basicConfig(level=logging.WARNING)
    chosen = Settings.load(Path(config))
    chosen.data_folder.with_name("stock").mkdir(parents=True, exist_ok=True)
    if words:
        layout_file, *topics = words
        asyncio.run(_run(app_of(chosen, idle(Layout.load(Path(layout_file).read_bytes())), *topics)))
    else:
        own = TopicNames.of(chosen.prefix, chosen.application)
        asyncio.run(_run(app_of(chosen, busy, own.releases, own.ledger)))
