"""A partition in memory: what it processes together, and what it keeps between batches."""

from stream_app.deciding.context import Context
from stream_app.deciding.decider import Headers, Outlets
from stream_app.formats.records import InputRecord, Records
from stream_app.formats.wire import dump
from stream_app.kafka.memory.partition import MemoryPartition
from tests.run import ADAPTIVE, KEYS, Run, default, observation

HOMES = [f"home-{nth}" for nth in range(20)]
ROUNDS = 5


def test_observations_of_many_series_are_processed_together() -> None:
    """After each series' first event, columns process all of them, with the bytes of single records."""
    context = Context(KEYS, (default("home-*", scheme=ADAPTIVE),))
    partition = MemoryPartition(context, bytes(32))
    released: list[bytes] = []

    def release(_key: bytes | None, value: bytes, _timestamp_ms: int, _headers: Headers) -> None:
        released.append(value)

    outlets = Outlets(lambda *_: None, release, lambda *_: None, None)
    log = [observation(home, 1000 * step, 5.0) for step in range(ROUNDS) for home in HOMES]
    sent = [InputRecord("landmark.events", 0, nth, 0, None, dump(record)) for nth, record in enumerate(log)]
    counts = [
        sum(batch.together for batch in partition.decide(Records.of(sent[start : start + len(HOMES)]), outlets))
        for start in range(0, len(sent), len(HOMES))
    ]
    assert counts == [0, *[len(HOMES)] * (ROUNDS - 1)]
    assert released == Run(context).feed_all(log).releases
    policies = {partition.policy_of(home) for home in HOMES}
    assert len(policies) == 1
    assert partition.policy_of("nobody") is None
