"""Two applications under one prefix: the second writes nothing, and foreign records stop a partition."""

import asyncio
import json
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer

from stream_app.kafka.brokers import Extent, Isolation
from stream_app.kafka.client.brokers import KafkaBrokers
from stream_app.kafka.client.eventstopic import EventsTopic
from stream_app.kafka.evidence import claim as claims
from stream_app.kafka.evidence.foreign import Ownership
from stream_app.kafka.parts import Site
from stream_app.kafka.stops import PartitionStoppedError
from stream_app.setup.settings import Settings
from tests.cluster.brokers import MemoryBrokers
from tests.cluster.cluster import MemoryCluster
from tests.cluster.group import Place
from tests.cluster.log import Draft
from tests.cluster.site import NAMES
from tests.kafka.acts import send_raw, stopped, write
from tests.kafka.installation import Installation, readings
from tests.run import limited

INSTALLED: dict[str, Any] = {"partitions": 1}


def beside(installation: Installation) -> Installation:
    """Return a second application under the same prefix, with the same key, as a copied configuration has it."""
    folder = installation.folder / "second"
    folder.mkdir()
    (folder / "key").write_bytes((installation.folder / "key").read_bytes())
    (folder / "key").chmod(0o600)
    application = f"{installation.name}-second"
    return Installation(installation.broker, folder, installation.name, partitions=1, application=application)


def entries(installation: Installation, isolation: Isolation = "read_committed") -> list[dict[str, Any]]:
    """Return the ledger's records, claims too."""
    return [json.loads(record.value) for record in installation.read_all(installation.names.ledger, isolation)]


def test_the_second_application_writes_nothing(installation: Installation, capsys: pytest.CaptureFixture[str]) -> None:
    """It stops at the first one's claim, as does its `recover`; the first continues; nothing is decided twice."""
    total = installation.send(readings(40))
    with installation.worker() as first:
        first.await_committed(total)
        before = entries(installation, "read_uncommitted")
        second = beside(installation)
        with second.worker(exit_when_stopped="never") as late:
            late.await_log("stopped (foreign-writer)")
            assert f"the claim of application {installation.name} under prefix" in late.said()
            total += installation.send(readings(40, start=40))
            first.await_committed(total)
            assert late.stop() == 0
        assert first.stop() == 0
    assert before[0] == {"entry": "claim", "application": installation.name, "prefix": installation.name}
    capsys.readouterr()
    assert second.command("recover") == 2
    assert "foreign-writer" in capsys.readouterr().err
    installation.answered_once()
    assert installation.command("audit") == 0
    assert [entry for entry in entries(installation) if entry["entry"] == "claim"] == before[:1]


def test_of_two_that_begin_at_once_one_goes_on(installation: Installation) -> None:
    """Each claims the empty partition; the lower offset rules for both, whoever asks first, even with one open."""

    async def both() -> list[int | str]:
        """Begin both at once."""
        second = installation.settings().model_copy(update={"application": f"{installation.name}-second"})
        answers = [asyncio.create_task(_claimed(settings)) for settings in (installation.settings(), second)]
        return [await answer for answer in answers]

    async def _claimed(settings: Settings) -> int | str:
        names = installation.names
        brokers = KafkaBrokers(settings, names, EventsTopic(settings, names.events, "never asked for"))
        producer = await brokers.fence(0)
        try:
            return await claims.write(
                Site(settings=settings, context=limited(), names=names, brokers=brokers), 0, producer, 0
            )
        except PartitionStoppedError as stopped:
            return stopped.reason
        finally:
            await producer.stop()

    answers = asyncio.run(both())
    assert sorted(map(str, answers)) == ["0", "foreign-writer"]
    applications = [entry["application"] for entry in entries(installation)]
    assert applications[0] == installation.name + ("" if answers[0] == 0 else "-second")
    assert len(applications) == 2
    with installation.worker() as worker:
        total = installation.send(readings(10))
        if answers[0] == 0:
            worker.await_committed(total)
        else:
            worker.await_log("foreign-writer")


def test_a_claim_behind_entries_rules_an_old_partition(installation: Installation) -> None:
    """A ledger without a claim, as of an earlier version, gets one at the next start, and readers pass over it."""
    total = installation.send(readings(20))
    installation.decide(total)
    old = installation.read(installation.names.ledger)
    for topic in (installation.names.ledger, installation.names.changelog):
        installation.delete(topic)
    asyncio.run(write(installation, {installation.names.ledger: old}))
    assert installation.command("recover") == 0
    for start in (20, 40):
        total += installation.send(readings(20, start=start))
        installation.decide(total)
        (place,) = [nth for nth, entry in enumerate(entries(installation)) if entry["entry"] == "claim"]
        assert place == len(old)
        installation.delete(installation.names.changelog)
        assert installation.command("recover") == 0
    installation.answered_once()
    assert installation.command("audit") == 0


@pytest.mark.parametrize("topic", ["ledger", "releases"])
@pytest.mark.parametrize("when", ["running", "stopped"])
def test_foreign_records_stop_the_partition(installation: Installation, topic: str, when: str) -> None:
    """The same bytes as this application's, from another producer, are found by the next batch or start."""
    total = installation.send(readings(40))
    name: str = getattr(installation.names, topic)
    with installation.worker() as worker:
        worker.await_committed(total)
        if when == "running":
            asyncio.run(_copy_last(installation, name))
            installation.send(readings(20, start=40))
            assert worker.await_end() == 1
            assert f"expected only records of this application in {name}" in worker.said()
            return
        assert worker.stop() == 0
    asyncio.run(_copy_last(installation, name))
    stopped(installation, "stopped (foreign-writer)")


async def _copy_last(installation: Installation, topic: str) -> None:
    """Repeat a topic's last record, with its header, as another application that decides the same would."""
    last = (await installation._read(topic, "read_committed"))[-1]  # noqa: SLF001
    producer = AIOKafkaProducer(
        bootstrap_servers=installation.broker.bootstrap_servers, transactional_id=f"{installation.name}-second-0"
    )
    async with producer, producer.transaction():
        await producer.send(topic, last.value, last.key, 0, last.timestamp, list(last.headers))


NO_OUTPUTS = [
    ("ledger", b"stray", b"hello"),
    ("ledger", b"home-1", b'{"entry":"release","series":"home-1","sequence":9,"previous":"","hash":"aa"}'),
    ("ledger", b"home-1", None),
    ("releases", b"stray", b"hello"),
]


@pytest.mark.parametrize("nth", range(len(NO_OUTPUTS)))
def test_a_stray_record_is_named(installation: Installation, nth: int, capsys: pytest.CaptureFixture[str]) -> None:
    """A start and `recover` say where a record outside transactions and without the header is, and whose topic."""
    meaning, key, value = NO_OUTPUTS[nth]
    total = installation.send(readings(40))
    installation.decide(total)
    name: str = getattr(installation.names, meaning)
    offset = asyncio.run(send_raw(installation, name, value, key))  # by who took the topic for another
    said = stopped(installation)
    expected = f"expected only records of this application in {name}; found a record from another"
    assert f"stopped (foreign-writer): {expected}" in said
    capsys.readouterr()
    assert installation.command("recover") == 2
    assert f"found a record at offset {offset} that no version of it writes" in (said := capsys.readouterr().err)
    assert f"(foreign-writer): expected only records of this application in {name}" in said


def test_own_aborted_records_are_own(installation: Installation) -> None:
    """Neither gap nor producer is foreign if it is of a worker that died before its commit, or another tenure."""
    total = installation.send(readings(40))
    with installation.worker() as worker:
        worker.await_committed(total)
        worker.process.kill()
    total += installation.send(readings(400, start=40))
    for _ in range(3):
        with installation.worker() as worker:
            worker.await_log("owns partitions [0]")
            worker.process.kill()
    installation.decide(total)
    installation.answered_once()


@pytest.mark.parametrize("foreign", [0, 1, 2])
async def test_one_foreign_record_is_found_wherever_it_lies(foreign: int) -> None:
    """It may be before, between or after two records of a batch; before the marker, the next batch finds it."""
    await _write_batches(None)
    with pytest.raises(PartitionStoppedError, match="foreign-writer"):
        await _write_batches(foreign)


async def _write_batches(foreign: int | None) -> None:
    """Write three batches and check each; ``foreign`` records of the second come before a foreign record."""
    cluster = MemoryCluster(lambda: 0)
    cluster.make(NAMES.releases, 1)
    place, log, draft = Place(NAMES.releases, 0), cluster.log(NAMES.releases, 0), Draft(b"home-1", b"{}", 0)
    writer = await MemoryBrokers(cluster, "writes", "life", NAMES).fence(0)
    ownership = Ownership(MemoryBrokers(cluster, "reads", "life", NAMES), 0)
    await ownership.begin({NAMES.releases: 0}, {writer.id})
    for batch in range(3):
        offsets = []
        for nth in range(3):
            if nth == foreign and batch == 1:
                cluster.append(place, [draft])
            if nth < 2:
                offsets.append(log.append([draft], producer=writer.id, epoch=0, sequence=2 * batch + nth))
        log.mark(writer.id, 0, "commit")
        await ownership.check(NAMES.releases, Extent(offsets[0], offsets[-1] + 1), 2, writer.id)
