"""Topics on a real broker: created with their settings, checked, and keeping what defaults would lose."""

import dataclasses
from pathlib import Path

import orjson
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import NewPartitions

from stream_app.cli import main
from stream_app.kafka.client.cluster import VERIFICATION, Cluster, ClusterError
from stream_app.kafka.client.topics import TopicNames, differences, wanted_topics
from stream_app.localbroker.broker import LocalBroker
from tests.admin import administration

HOUR_MS = 3_600_000
YEAR_2012_MS = 1_338_534_000_000
YEAR_9999_MS = 253_402_300_799_999


async def make(broker: LocalBroker, names: TopicNames, partitions: int = 2) -> None:
    """Make the topics under these names."""
    async with Cluster.connected({"bootstrap_servers": broker.bootstrap_servers}) as cluster:
        await cluster.make(wanted_topics(names, partitions, 1))


async def test_made_topics_are_as_wanted(broker: LocalBroker) -> None:
    """Missing topics are reported one by one; created ones show no difference."""
    names = TopicNames.of("wanted", "wanted-app")
    wanted = wanted_topics(names, 2, 1)
    async with Cluster.connected({"bootstrap_servers": broker.bootstrap_servers}) as cluster:
        missing = differences(wanted, await cluster.find(names))
        assert [(one.topic, one.found) for one in missing] == [(name, "missing") for name in names]
        made = await cluster.make(wanted)
        assert differences(wanted, made) == ()
        assert made == await cluster.find(names)
        assert await cluster.brokers() == 1


async def test_a_broker_that_has_not_heard_of_a_topic_says_nothing_of_it(broker: LocalBroker) -> None:
    """If one broker lists a topic and another does not know its settings, the topic is looked up again."""
    async with Cluster.connected({"bootstrap_servers": broker.bootstrap_servers}) as cluster:
        await cluster.make(wanted_topics(TopicNames.of("heard", "heard-app"), 1, 1))
        found = await cluster._settings(["heard.ledger", "unheard.ledger"])  # noqa: SLF001 (a race of two brokers else)
        assert list(found) == ["heard.ledger"]


async def test_every_difference_is_told_at_once(broker: LocalBroker) -> None:
    """Topics made without the settings show each wrong setting, with its remedy."""
    names = TopicNames.of("plain", "plain-app")
    wanted = wanted_topics(names, 2, 1)
    async with Cluster.connected({"bootstrap_servers": broker.bootstrap_servers}) as cluster:
        await cluster.make(dataclasses.replace(topic, partitions=1, settings={}) for topic in wanted)
        told = differences(wanted, await cluster.find(names))

    kept = {"message.timestamp.after.max.ms", "segment.ms", "retention.ms", "partition count"}
    fields = {name: {one.field for one in told if one.topic == name} for name in names}
    assert fields[names.events] == {"partition count", "message.timestamp.type"}
    assert fields[names.changelog] == {
        "partition count", "cleanup.policy", "message.timestamp.after.max.ms", "segment.ms",
    }  # fmt: skip
    assert fields[names.ledger] == fields[names.releases] == fields[names.rejects] == kept
    ledger = next(one for one in told if one.topic == names.ledger and one.field == "retention.ms")
    assert (ledger.wanted, ledger.found) == ("-1", str(7 * 24 * HOUR_MS))
    assert f"--entity-name {names.ledger} --add-config retention.ms=-1" in ledger.remedy


async def test_other_partition_counts_are_told(broker: LocalBroker) -> None:
    """A topic with more partitions than the others is found."""
    names = TopicNames.of("grown", "grown-app")
    await make(broker, names)
    async with administration(bootstrap_servers=broker.bootstrap_servers) as admin:
        await admin.create_partitions({names.releases: NewPartitions(3)})
    async with Cluster.connected({"bootstrap_servers": broker.bootstrap_servers}) as cluster:
        found = await cluster.find(names)
        while found[names.releases].partitions == 2:  # the controller answers before the broker knows
            found = await cluster.find(names)
    (told,) = differences(wanted_topics(names, 2, 1), found)
    assert (told.topic, told.field, told.wanted, told.found) == (names.releases, "partition count", "2", "3")


async def test_refusals_name_every_topic(broker: LocalBroker) -> None:
    """Existing topics are not created again; each is named."""
    names = TopicNames.of("twice", "twice-app")
    await make(broker, names)
    with pytest.raises(ClusterError) as caught:
        await make(broker, names)
    assert all(name in caught.value.found for name in names)


def test_three_brokers_guard_what_was_acknowledged() -> None:
    """With three replicas two acknowledge a record, and no broker without it can lead; more is also accepted."""
    names = TopicNames.of("landmark", "app")
    for topic in wanted_topics(names, 4, 3):
        assert topic.settings["min.insync.replicas"] == "2"
        assert topic.settings["unclean.leader.election.enable"] == "false"
        better = dataclasses.replace(topic, settings={**topic.settings, "min.insync.replicas": "3"})
        assert differences([topic], {topic.name: better}) == ()
        worse = dataclasses.replace(topic, settings={**topic.settings, "min.insync.replicas": "1"})
        assert [one.field for one in differences([topic], {topic.name: worse})] == ["min.insync.replicas"]


async def test_outputs_keep_times_far_from_now(broker: LocalBroker) -> None:
    """Records stamped 2012 and 9999 are accepted, keep their stamps, and share a segment that nothing deletes."""
    names = TopicNames.of("times", "times-app")
    await make(broker, names, partitions=1)
    stamps = [YEAR_9999_MS, YEAR_2012_MS, 0, YEAR_2012_MS + HOUR_MS, YEAR_9999_MS]
    producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers, transactional_id="times")
    async with producer, producer.transaction():
        for name in (names.releases, names.ledger, names.rejects, names.changelog):
            for stamp in stamps:
                await producer.send(name, key=b"series", value=b"{}", timestamp_ms=stamp)
    for name in (names.releases, names.ledger, names.rejects, names.changelog):
        assert await stamps_of(broker, name, len(stamps)) == stamps
        (segment,) = (broker.folder / "data" / f"{name}-0").glob("*.log")
        assert segment.stat().st_size > 0


async def test_events_carry_the_brokers_time(broker: LocalBroker) -> None:
    """The record time that a sender claims for an event is replaced by the time of its append."""
    names = TopicNames.of("appended", "appended-app")
    await make(broker, names, partitions=1)
    async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers) as producer:
        await producer.send_and_wait(names.events, b"{}", timestamp_ms=YEAR_2012_MS)
    (stamp,) = await stamps_of(broker, names.events, 1)
    assert stamp > YEAR_2012_MS + 10 * 365 * 24 * HOUR_MS


def test_command_makes_then_checks(
    broker: LocalBroker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """``topics`` creates what is missing and exits 0, then accepts it; another partition count makes it exit 2."""
    monkeypatch.setenv("LANDMARK_STREAM_BOOTSTRAP_SERVERS", broker.bootstrap_servers)
    monkeypatch.setenv("LANDMARK_STREAM_PREFIX", "command")
    monkeypatch.setenv("LANDMARK_STREAM_APPLICATION", "command-app")
    names = TopicNames.of("command", "command-app")

    assert main(["topics", "--check"]) == 2
    assert capsys.readouterr().out.startswith(
        f"{', '.join(names)}: topic is missing, but must be there. Create it with `topics`"
    )
    assert main(["topics", "--json"]) == 0
    made = {"holds": True, "made": list(names), "unverified_brokers": [], "differences": [], "short": []}
    assert orjson.loads(capsys.readouterr().out) == made
    assert main(["topics"]) == 0
    assert "command.ledger: correct, 4 partitions" in capsys.readouterr().out

    monkeypatch.setenv("LANDMARK_STREAM_PARTITIONS", "5")
    assert main(["topics", "--json"]) == 2
    told = orjson.loads(capsys.readouterr().out)["differences"]
    assert {(one["topic"], one["field"], one["found"]) for one in told} == {
        (name, "partition count", "4") for name in names
    }


def test_command_names_brokers_it_can_not_reach(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without brokers the message names the field and says how to start a broker."""
    monkeypatch.setenv("LANDMARK_STREAM_BOOTSTRAP_SERVERS", "127.0.0.1:1")
    assert main(["topics"]) == 2
    said = capsys.readouterr().err
    assert "127.0.0.1:1 (bootstrap_servers)" in said
    assert "kafka start" in said


async def stamps_of(broker: LocalBroker, topic: str, count: int) -> list[int]:
    """Read the first ``count`` record timestamps of a topic with one partition."""
    consumer = AIOKafkaConsumer(bootstrap_servers=broker.bootstrap_servers, isolation_level="read_committed")
    consumer.assign([TopicPartition(topic, 0)])
    async with consumer:
        await consumer.seek_to_beginning()
        return [(await consumer.getone()).timestamp for _ in range(count)]


def test_a_broker_that_does_not_verify_transactions_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A late page of an aborted batch could be committed with the next one; the message includes the remedy."""
    with LocalBroker.start(tmp_path, overrides={VERIFICATION: "false"}) as unverified:
        monkeypatch.setenv("LANDMARK_STREAM_BOOTSTRAP_SERVERS", unverified.bootstrap_servers)
        assert main(["topics"]) == 0
        assert f"warning: {VERIFICATION} is false on brokers " in (said := capsys.readouterr().out)
        assert f"--add-config {VERIFICATION}=true" in said
        assert main(["topics", "--check", "--json"]) == 0
        assert len(orjson.loads(capsys.readouterr().out)["unverified_brokers"]) == 1
