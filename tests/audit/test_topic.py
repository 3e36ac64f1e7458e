"""The audit of real topics: only committed records, up to the end, beside a worker that keeps writing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete

from stream_app.audit import Auditor
from stream_app.audit.topic import TopicError, read_topics
from stream_app.cli import main
from stream_app.kafka.client.cluster import Cluster
from stream_app.kafka.client.topics import TopicNames, wanted_topics
from stream_app.localbroker.broker import LocalBroker
from tests.audit.ways import codes
from tests.audit.written import LEDGERS, Written, write
from tests.command import Cli

PARTITIONS = 2


async def topics(broker: LocalBroker, prefix: str) -> TopicNames:
    """Create the topics under a prefix."""
    names = TopicNames.of(prefix, f"{prefix}-app")
    async with Cluster.connected({"bootstrap_servers": broker.bootstrap_servers}) as cluster:
        await cluster.make(wanted_topics(names, PARTITIONS, 1))
    return names


@asynccontextmanager
async def producing(broker: LocalBroker, name: str) -> AsyncIterator[AIOKafkaProducer]:
    """Start a transactional producer and stop it; afterwards, what it committed can be read.

    A commit is answered before its markers are in the partitions, and readers of committed records stop before an open
    transaction. The next producer of the same name starts once all markers are there.
    """
    async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers, transactional_id=name) as producer:
        yield producer
    async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers, transactional_id=name):
        pass


async def send(producer: AIOKafkaProducer, names: TopicNames, written: Written, partition: int) -> None:
    """Send entries and releases within the producer's transaction."""
    for line in written.lines():
        await producer.send(names.ledger, line, partition=partition)
    for line in written.release_lines():
        await producer.send(names.releases, line, partition=partition)


async def read(broker: LocalBroker, names: TopicNames) -> Auditor:
    """Read both topics into an auditor."""
    auditor = Auditor(compare=True)
    client = {"bootstrap_servers": broker.bootstrap_servers}
    await read_topics(auditor, client, names.ledger, names.releases)
    return auditor


async def test_committed_records_count_and_others_do_not(broker: LocalBroker) -> None:
    """Aborted or uncommitted records are not part of the ledger and do not block anyone."""
    names = await topics(broker, "audit-committed")
    async with producing(broker, "audit-committed") as producer, producing(broker, "audit-open") as waiting:
        for partition, name in enumerate(("uniform", "user")):
            async with producer.transaction():
                await send(producer, names, write(LEDGERS[name], name), partition)
        await producer.begin_transaction()
        await send(producer, names, write(LEDGERS["skip"], "uniform"), 0)
        await producer.abort_transaction()
        await waiting.begin_transaction()
        await send(waiting, names, write(LEDGERS["event"], "event"), 1)
        await waiting.flush()
        report = (await read(broker, names)).finish()
        assert report.findings == ()
        assert (report.series, report.releases) == (2, 10 + 4)
        await waiting.commit_transaction()
    report = (await read(broker, names)).finish()
    assert report.findings == ()
    assert report.series == 3


async def test_what_is_missing_in_one_topic_is_found(broker: LocalBroker) -> None:
    """A missing release or entry is judged once there was time for it to appear."""
    names = await topics(broker, "audit-missing")
    without_release, without_entry = write(LEDGERS["uniform"]), write(LEDGERS["user"], "u")
    del without_release.releases[4]
    del without_entry.entries[-2:]
    async with producing(broker, "audit-missing") as producer, producer.transaction():
        await send(producer, names, without_release, 0)
        await send(producer, names, without_entry, 1)
    auditor = Auditor(compare=True)
    client = {"bootstrap_servers": broker.bootstrap_servers}
    judged = await read_topics(auditor, client, names.ledger, names.releases)
    assert judged == {("u", 6000)}  # later releases show that the other one is missing for good
    report = auditor.finish(judged)
    assert codes(report) == {"entry-without-release", "release-without-entry"}
    assert report.found == 2


async def test_what_came_after_the_end_is_not_judged(broker: LocalBroker) -> None:
    """An entry whose release is still on its way when the audit ends is not a finding."""
    names = await topics(broker, "audit-after")
    written = write(LEDGERS["event"])
    del written.releases[-1]
    async with producing(broker, "audit-after") as producer, producer.transaction():
        await send(producer, names, written, 0)
    auditor = await read(broker, names)
    assert auditor.finish(set()).holds
    assert not auditor.finish().holds


async def test_a_topic_that_is_not_there_is_named(broker: LocalBroker) -> None:
    """The error names the topic and the remedy."""
    names = TopicNames.of("audit-nowhere", "audit-nowhere-app")
    with pytest.raises(TopicError, match=r"audit-nowhere\.ledger was not found;"):
        await read(broker, names)


async def test_a_ledger_that_lost_its_start_is_refused(broker: LocalBroker) -> None:
    """If the ledger has deleted records, it is unreadable; if the releases have, they must be omitted."""
    names = await topics(broker, "audit-deleted")
    async with producing(broker, "audit-deleted") as producer, producer.transaction():
        await send(producer, names, write(LEDGERS["event"]), 0)
    await delete(broker, names.releases)
    with pytest.raises(TopicError, match="--no-releases"):
        await read(broker, names)
    auditor = Auditor()
    await read_topics(auditor, {"bootstrap_servers": broker.bootstrap_servers}, names.ledger, None)
    assert auditor.finish().holds
    await delete(broker, names.ledger)
    with pytest.raises(TopicError, match="deleted up to offset 1"):
        await read_topics(auditor, {"bootstrap_servers": broker.bootstrap_servers}, names.ledger, None)


async def delete(broker: LocalBroker, topic: str) -> None:
    """Delete a topic's first record."""
    admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
    await admin.start()
    try:
        await admin.delete_records({TopicPartition(topic, 0): RecordsToDelete(before_offset=1)})
    finally:
        await admin.close()


async def test_the_command_reads_the_topics(broker: LocalBroker, tmp_path: Path, cli: Cli) -> None:
    """Without files, the configuration gives the topics and the lifetime."""
    names = await topics(broker, "audit-command")
    async with producing(broker, "audit-command") as producer, producer.transaction():
        await send(producer, names, write(LEDGERS["adaptive"]), 1)
    settings = tmp_path / "landmark-stream.toml"
    settings.write_text(f'bootstrap_servers = "{broker.bootstrap_servers}"\nprefix = "audit-command"\n')
    assert await asyncio.to_thread(main, ["audit", "--config", str(settings)]) == 0
    assert "releases compared 7" in cli.said().out
    assert await asyncio.to_thread(main, ["audit", "--config", str(settings), "--no-releases"]) == 0
    assert "releases not compared" in cli.said().out
    settings.write_text(settings.read_text() + "lifetime_epsilon = 9e-8\n")
    assert await asyncio.to_thread(main, ["audit", "--config", str(settings)]) == 1
    assert "lifetime  home-7 #1" in cli.said().out


async def test_a_page_of_the_topic_is_that_of_its_file(broker: LocalBroker, tmp_path: Path) -> None:
    """The second look reads the topic again and sees the same entries as the first."""
    pytest.importorskip("matplotlib")
    names = await topics(broker, "audit-page")
    written = write(LEDGERS["uniform"])
    async with producing(broker, "audit-page") as producer, producer.transaction():
        await send(producer, names, written, 1)
    settings = tmp_path / "landmark-stream.toml"
    settings.write_text(f'bootstrap_servers = "{broker.bootstrap_servers}"\nprefix = "audit-page"\n')
    ledger = tmp_path / "ledger.jsonl"
    ledger.write_bytes(b"\n".join(written.lines()))
    pages = tmp_path / "topic.html", tmp_path / "file.html"
    topic = ["audit", "--config", str(settings), "--no-releases", "--html", str(pages[0])]
    assert await asyncio.to_thread(main, topic) == 0
    assert main(["audit", "--ledger", str(ledger), "--html", str(pages[1])]) == 0
    of_topic, of_file = (page.read_text() for page in pages)
    assert of_topic.replace("the topic audit-page.ledger", "L") == of_file.replace(f"the ledger {ledger}", "L")
