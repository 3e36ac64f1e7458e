"""Quix Streams: one stateful function with its state in RocksDB, exactly once.

``python -m benchmarks.peers.quix SERVERS GROUP EVENTS RELEASES LEDGER FOLDER``, in its own environment.
"""

import sys
from typing import Any

from quixstreams import Application  # type: ignore[import-not-found]

from benchmarks.peers import work

COMMIT_SECONDS = 0.1
"""The same as in Kafka Streams; Quix defaults to 5."""


def serve(servers: str, group: str, topics: tuple[str, str, str], folder: str) -> None:
    """Answer events until stopped."""
    application = Application(
        broker_address=servers,
        consumer_group=group,
        auto_offset_reset="earliest",
        processing_guarantee="exactly-once",
        commit_interval=COMMIT_SECONDS,
        state_dir=folder,
        loglevel="WARNING",
        producer_extra_config={"linger.ms": 20, "batch.size": 1_000_000},
    )
    events, releases, ledger = (
        application.topic(name, key_serializer="bytes", value_serializer="bytes", value_deserializer="bytes")
        for name in topics
    )

    def answer(value: bytes, state: Any) -> tuple[bytes, bytes]:
        release, entry, row = work.answer(value, state.get("row"))
        state.set("row", row)
        return release, entry

    answered = application.dataframe(events).apply(answer, stateful=True)
    answered.apply(lambda both: both[0]).to_topic(releases)
    answered.apply(lambda both: both[1]).to_topic(ledger)
    application.run()


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], (sys.argv[3], sys.argv[4], sys.argv[5]), sys.argv[6])
