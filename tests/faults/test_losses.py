"""What a run loses: local state, the broker, a worker's time, the key, configuration, the changelog."""

import asyncio
import json
import os
import signal
from collections import defaultdict
from pathlib import Path

import orjson
import pytest

from stream_app.localbroker.broker import LocalBroker
from tests.faults.fleet import SESSION_MS, Fleet, Site
from tests.faults.moment import freeze_with_tail
from tests.faults.topics import Sent, Topics
from tests.faults.verdict import judge
from tests.faults.workload import DEFAULTS, LIFETIME_EPSILON, NUMBER, START_MS, STEP_MS, Workload, policy
from tests.patience import PATIENCE_SECONDS

SMALL_BATCHES = {"lifetime_epsilon": LIFETIME_EPSILON, "batch_records": 50}


def newcomers(first: int, count: int) -> list[Sent]:
    """Return events of series that occur twice each: every batch adopts the default policy again."""
    return [
        Sent(
            f"meter-{number // 2}".encode(),
            orjson.dumps(
                {"series": f"meter-{number // 2}", "timestamp": START_MS + number % 2 * STEP_MS, "value": number % 97}
            ),
        )
        for number in range(first, first + count)
    ]


async def test_local_state_deleted(broker: LocalBroker, tmp_path: Path, seed: int) -> None:
    """Without local state a worker reads everything back from the changelog and continues as if nothing was."""
    site = Site(broker.bootstrap_servers, tmp_path, "stateless", 4, DEFAULTS, SMALL_BATCHES).prepare()
    topics, workload = Topics(site), Workload(seed, 100)
    with Fleet(site) as fleet:
        for killed in (False, True, False):
            fleet.start("a")
            await topics.send(workload.events(1_000))
            await topics.until_decided(fleet)
            if killed:
                fleet.workers["a"].kill()
            fleet.stop()
            fleet.forget_state()
    await judge(site)


async def test_broker_killed(tmp_path: Path, seed: int) -> None:
    """When a broker killed during work returns, its workers continue by themselves, except one ended meanwhile.

    That worker ends normally, as always: it has nobody to acknowledge to.
    """
    with LocalBroker.start(tmp_path / "kafka") as first:
        site = Site(first.bootstrap_servers, tmp_path / "site", "brokerless", 4, DEFAULTS, SMALL_BATCHES).prepare()
        topics, workload = Topics(site), Workload(seed, 200)
        with Fleet(site) as fleet:
            await fleet.begin("a", "b", "c")
            ended = fleet.workers["c"]
            await topics.send(workload.events(2_500))
            await asyncio.sleep(0.3)
            os.kill(first.pid, signal.SIGKILL)
            assert first.state.process.wait(PATIENCE_SECONDS)
            await asyncio.sleep(3)
            assert ended.stop() == 0
            assert "stream_app.kafka.worker: stopped" in ended.said()  # counts of repeated lines may follow
            assert "forcing the exit." not in ended.said()
            assert "ConsumerEndedError" not in ended.said()
            with LocalBroker.start(tmp_path / "kafka") as again:
                assert again.bootstrap_servers == first.bootstrap_servers
                await topics.send(workload.events(500))
                await topics.until_decided(fleet)
                assert all(worker.runs for worker in fleet.workers.values() if worker is not ended)
                fleet.stop()
                verdict = await judge(site)
    assert verdict.inputs == workload.sent


async def test_zombie(broker: LocalBroker, tmp_path: Path, seed: int) -> None:
    """A worker frozen in mid-transaction and woken after its session expired writes nothing that counts."""
    site = Site(broker.bootstrap_servers, tmp_path, "zombie", 4, DEFAULTS, SMALL_BATCHES).prepare()
    topics, workload = Topics(site), Workload(seed, 200)
    with Fleet(site) as fleet:
        sleeper = fleet.start("a")
        await sleeper.until_ready()
        await topics.send(workload.events(4_000))
        assert await freeze_with_tail(sleeper, topics) > 0
        await fleet.start("b").until_ready()
        await topics.until_decided(fleet)
        await asyncio.sleep(SESSION_MS / 1000)
        before = [await topics.ends(meaning) for meaning in ("releases", "ledger", "rejects")]
        sleeper.wake()
        await asyncio.sleep(2)
        # What it still had in hand is refused, so nothing was added: not even uncommitted.
        assert [await topics.ends(meaning) for meaning in ("releases", "ledger", "rejects")] == before
        await topics.send(workload.events(1_000))
        await topics.until_decided(fleet)
        fleet.stop()
    verdict = await judge(site)
    assert verdict.repeated > 0, "the successor never came upon the sleeper's entries"


CHANGED = [{"series": "meter-*", **policy(NUMBER, "adaptive", epsilon=0.5)}, *DEFAULTS[1:]]


@pytest.mark.parametrize("change", ["key", "default", "no-default"])
async def test_changed_with_tail(broker: LocalBroker, tmp_path: Path, change: str) -> None:
    """If the key or default policy changes between crash and restart, the partition stops and gives the remedy.

    With the old ones restored it continues, and nothing was spent twice.
    """
    site = Site(broker.bootstrap_servers, tmp_path, f"changed-{change}", 1, DEFAULTS, SMALL_BATCHES).prepare()
    topics = Topics(site)
    with Fleet(site) as fleet:
        worker = fleet.start("a")
        await worker.until_ready()
        await topics.send(newcomers(0, 2_000))
        await freeze_with_tail(worker, topics)
        worker.kill()
        kept = site.key.rename(tmp_path / "kept.key")
        if change == "key":
            site.command("keys", "new", str(site.key))
        else:
            site.key.write_bytes(kept.read_bytes())
            site.key.chmod(0o600)
            site.write_policies(CHANGED if change == "default" else DEFAULTS[1:])
        outputs = [await topics.ends(meaning) for meaning in ("releases", "ledger", "rejects")]
        stopped = fleet.start("a")
        assert await stopped.until_ended() == 1
        said = stopped.said()
        if change == "key":
            assert "stopped (key-changed)" in said
        else:
            assert "stopped (tail-differs)" in said
            assert "Restart with the key file, the configuration and the version of the program that" in said
        after = [await topics.ends(meaning) for meaning in ("releases", "ledger", "rejects")]
        # A transaction that was left open is ended by a marker; beyond it there is nothing.
        assert all(late[0] - early[0] <= 1 for early, late in zip(outputs, after, strict=True)), "wrote all the same"
        kept.rename(site.key)
        site.write_policies(DEFAULTS)
        fleet.start("a")
        await topics.until_decided(fleet)
        fleet.stop()
    verdict = await judge(site)
    assert verdict.repeated > 0


async def test_changed_without_tail(broker: LocalBroker, tmp_path: Path) -> None:
    """Once everything is committed, a new default policy applies to new series; older ones keep theirs."""
    site = Site(broker.bootstrap_servers, tmp_path, "adopted", 1, DEFAULTS, SMALL_BATCHES).prepare()
    topics = Topics(site)
    with Fleet(site) as fleet:
        fleet.start("a")
        await topics.send(newcomers(0, 201))
        await topics.until_decided(fleet)
        fleet.stop()
        site.write_policies(CHANGED)
        worker = fleet.start("a")
        await topics.send(newcomers(201, 200))
        await topics.until_decided(fleet)
        fleet.stop()
        assert "accepted: the configuration has fingerprint" in worker.said()
    await judge(site, replay=False)
    budgets: dict[str, list[int]] = defaultdict(list)
    for record in await topics.read("ledger"):
        entry = json.loads(record.value)
        budgets[entry["series"]].append(entry["budget_nano"])
    for nth in range(200):
        wanted = 10**9 if nth <= 100 else 10**9 // 2
        assert set(budgets[f"meter-{nth}"]) == {wanted}


async def test_changelog_lost(broker: LocalBroker, tmp_path: Path, seed: int) -> None:
    """If the changelog is lost after a crash, workers stop and `recover` rebuilds; the end is as if never lost."""
    site = Site(broker.bootstrap_servers, tmp_path, "rowless", 2, DEFAULTS, SMALL_BATCHES).prepare()
    topics, workload = Topics(site), Workload(seed, 150)
    with Fleet(site) as fleet:
        worker = fleet.start("a")
        await worker.until_ready()
        await topics.send(workload.events(1_500))
        await topics.until_decided(fleet)
        await topics.send(workload.events(3_000))
        await freeze_with_tail(worker, topics)
        worker.kill()
        await topics.remake("changelog")
        stopped = fleet.start("a")
        assert await stopped.until_ended() == 1
        assert stopped.said().count("stopped (row-missing)") == site.partitions
        assert "run `landmark-stream recover`" in stopped.said()
        recovered = orjson.loads(site.command("recover", "--config", str(site.config()), "--json").stdout)
        assert len(recovered["partitions"]) == site.partitions
        fleet.start("b")
        await topics.send(workload.events(1_000))
        await topics.until_decided(fleet)
        fleet.stop()
    verdict = await judge(site)
    assert verdict.repeated > 0
