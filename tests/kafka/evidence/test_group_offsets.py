"""Group offsets that somebody moved forward: nothing undecided is skipped without explicit consent."""

import asyncio
import json
import re
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer

from tests.kafka.acts import stopped
from tests.kafka.installation import Installation, input_of, readings
from tests.kafka.wards import Wards, send_and_await

INSTALLED: dict[str, Any] = {"partitions": 1}


def decided(installation: Installation, count: int) -> None:
    """Let a worker decide this many readings."""
    installation.send(readings(count))
    installation.decide(count)


def test_offsets_set_forward_are_set_back(installation: Installation, capsys: pytest.CaptureFixture[str]) -> None:
    """The worker stops; `recover` names what would be skipped and refuses; set back, every input is answered."""
    decided(installation, 100)
    total = 100 + installation.send(readings(50, start=100))
    installation.set_offset(130)
    stopped(installation, "stopped (row-behind)", "If somebody moved the group's offset forward, set it back")
    capsys.readouterr()
    assert installation.command("recover") == 2
    assert "partition 0 stopped (input-skipped)" in (said := capsys.readouterr().err)
    assert "no output for 30 records, offsets 100 to 129; the outputs end with the input before offset 100" in said
    installation.set_offset(100)
    installation.delete(installation.names.changelog)
    assert installation.command("recover") == 0
    installation.decide(total)
    installation.answered_once()
    assert installation.command("audit") == 0


def test_passed_over_by_an_explicit_word(installation: Installation) -> None:
    """The rejects report once what is given up; later input is decided, and the chain continues."""
    decided(installation, 100)
    total = 100 + installation.send(readings(50, start=100))
    installation.set_offset(130)
    assert installation.command("recover", "--accept-skipped-input") == 0
    assert installation.command("recover") == 0, "told by the rejects, it need not be accepted twice"
    installation.decide(total)
    answered = sorted(input_of(record) for record in installation.read(installation.names.releases))
    assert answered == [*range(100), *range(130, total)]
    (told,) = installation.read(installation.names.rejects)
    assert (json.loads(told.value)["reason"], json.loads(told.value)["offset"], input_of(told)) == (
        "input-lost",
        129,
        129,
    )
    assert installation.command("audit") == 0


def test_markers_of_transactions_are_no_records(installation: Installation) -> None:
    """An offset at the end of the log is after a marker, which no output names: nothing undecided is there."""
    asyncio.run(_send_in_a_transaction(installation))
    installation.decide(20)
    installation.delete(installation.names.changelog)
    installation.set_offset(21)
    assert installation.command("recover") == 0
    installation.send(readings(20, start=20))
    installation.decide(41)
    installation.answered_once()


async def _send_in_a_transaction(installation: Installation) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=installation.broker.bootstrap_servers, transactional_id="sender")
    async with producer, producer.transaction():
        for event in readings(20):
            value = json.dumps(event).encode()
            await producer.send(installation.names.events, key=event["series"].encode(), value=value, partition=0)


def test_contributions_that_nobody_can_be_sure_of_are_counted(
    installation: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    """With collected data beside readings, each kind is reported, and skipped input gives up open steps."""
    wards = Wards(2)
    with installation.worker() as worker:
        send_and_await(installation, worker, [*readings(10), *wards.begin(), *wards.hours(1, 5), *wards.half(5)])
        assert worker.stop() == 0
    end = len(installation.read(installation.names.events))
    held = installation.committed()
    assert held < end, "the open steps hold it"
    installation.delete(installation.names.changelog)
    assert installation.command("recover") == 0, "as the worker left it"
    more = [*readings(3, start=10), *wards.half(5)]
    installation.send(more)
    installation.set_offset(end + len(more))
    capsys.readouterr()
    assert installation.command("recover") == 2
    found = re.search(
        r"no output for (\d+) records, offsets \d+ to (\d+), of which (\d+) are contr", capsys.readouterr().err
    )
    assert found is not None
    records, last, unsure = map(int, found.groups())
    assert last == end + len(more) - 1
    assert records - unsure == 3
    assert unsure >= len(more) - 3
    assert installation.command("recover", "--accept-skipped-input") == 0
    recovered = json.loads(capsys.readouterr().out)["partitions"][0]
    assert (recovered["next_offset"], recovered["open_steps"]) == (end + len(more), 0)
    assert recovered["lost_counts"] == 2
