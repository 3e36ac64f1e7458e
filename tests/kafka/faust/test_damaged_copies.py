"""A worker whose local state is damaged, or whose machine runs out of resources, on a real broker."""

import asyncio
import os
import re
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from stream_app.kafka.client.brokers import PartitionProducer
from stream_app.localbroker.broker import LocalBroker
from tests.kafka.acts import stopped
from tests.kafka.faust.damage import damage_copy, middle_flipped
from tests.kafka.installation import Installation, readings
from tests.kafka.replayed import assert_topics_hold_what_replay_computes

PARTITIONS = 12
KINDS = (
    *(f"log of writes {way}" for way in ("flipped", "truncated", "deleted")),
    *(f"CURRENT {way}" for way in ("flipped", "truncated", "emptied", "deleted")),
    *(f"MANIFEST {way}" for way in ("flipped", "truncated", "emptied", "deleted")),
    *(f"tables {way}" for way in ("flipped", "truncated", "emptied", "deleted")),
    "OPTIONS deleted",
    "IDENTITY flipped",
    "rocksdict's settings truncated",
    "the folder is a file",
    "the folder is empty",
    "the folder is gone",
    "the middle of a table flipped",
)


@pytest.fixture
def installation(installation: Installation) -> Installation:
    """Give all workers one folder."""
    installation.more["data_folder"] = installation.folder / "data"
    return installation


def copy_of(installation: Installation, partition: int) -> Path:
    """Return the folder of a partition's local copy."""
    (found,) = installation.settings().data_folder.rglob(f"state-{partition}.db")
    return found


def test_damaged_copies_are_read_back_from_the_changelog(broker: LocalBroker, tmp_path: Path) -> None:
    """Every kind of damage hits a partition of its own; all continue as if nothing had happened."""
    installation = Installation(broker, tmp_path, "damaged-copies", partitions=PARTITIONS)
    installation.more = {"data_folder": tmp_path / "data"}
    total = installation.send(readings(1_200, series=200))
    installation.decide(total)
    total += installation.send(readings(1_200, series=200, start=1_200))
    with installation.worker() as worker:
        worker.await_committed(total)  # killed behind this: what is decided stands in the logs of writes
    assert len(KINDS) == 2 * (PARTITIONS - 1)
    for first in (0, PARTITIONS - 1):
        for partition, kind in enumerate(KINDS[first : first + PARTITIONS - 1]):
            damage_copy(copy_of(installation, partition), kind)
        start = total
        total += installation.send(readings(1_200, series=200, start=start))
        with installation.worker(f"damaged-{first}") as worker:
            worker.await_committed(total)
            discarded = worker.metric("landmark_damaged_copies_total")
            assert worker.stop() == 0
        said = worker.said()
        assert discarded == len(re.findall(r"partition \d+: the local state in \S+ is damaged", said)) >= 3
        assert f"partition {PARTITIONS - 1}: the local" not in said
        assert "bug" not in said
        assert " ERROR " not in said
    installation.answered_once()
    assert_topics_hold_what_replay_computes(installation)


def test_damage_found_during_work(installation: Installation) -> None:
    """A row that cannot be read is read back with all others at that moment; no series starts over."""
    installation.more["cached_series"] = 100
    total = installation.send(readings(2_000, series=500))
    installation.decide(total)
    with installation.worker("damaged") as worker:
        worker.await_log("health at")
        worker.await_ready(200, "partitions")
        for partition in range(installation.partitions):
            for table in copy_of(installation, partition).glob("*.sst"):
                middle_flipped(table)
        total += installation.send(readings(2_000, series=500, start=2_000))
        worker.await_committed(total)
        assert worker.metric("landmark_damaged_copies_total") >= 1
        assert worker.stop() == 0
    assert "checksum mismatch" in worker.said()
    assert "discarded, and restored from the changelog" in worker.said()
    installation.answered_once()
    assert_topics_hold_what_replay_computes(installation)


def test_a_damaged_standby_copy_begins_anew(installation: Installation) -> None:
    """The standby discards it, reads the whole changelog, and takes over from what it has."""
    installation.more["standby_replicas"] = 1
    other = str(installation.folder / "other")
    total = installation.send(readings(400))
    with installation.worker("a") as owner:
        with installation.worker("b", data_folder=other) as stander:
            stander.await_log("owns partitions")
            for worker in (owner, stander):
                worker.await_ready(200, "partitions [")
            total += installation.send(readings(400, start=400))
            stander.await_committed(total)
            assert stander.stop() == 0
        for partition in range(installation.partitions):
            (copy,) = Path(other).rglob(f"state-{partition}.db")
            damage_copy(copy, "CURRENT emptied")
        with installation.worker("c", data_folder=other) as stander:
            stander.await_log("owns partitions")
            for worker in (owner, stander):
                worker.await_ready(200, "partitions [")
            assert stander.metric("landmark_damaged_copies_total") == installation.partitions
            owner.process.kill()
            total += installation.send(readings(400, start=800))
            stander.await_committed(total)
            assert stander.stop() == 0
    assert "crashed" not in stander.said()
    installation.answered_once()
    assert_topics_hold_what_replay_computes(installation)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of eight megabytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("a small disk takes a user who may mount one")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("policy", ["all", "any"])
def test_a_full_disk_ends_the_worker_and_another_goes_on(
    installation: Installation, small_disk: Path, policy: str
) -> None:
    """The disk, its folder and the remedy are named; a restart on it joins no group; another folder works."""
    total = installation.send(readings(200))
    folder = small_disk / "data"
    with installation.worker(data_folder=str(folder), exit_when_stopped=policy) as worker:
        worker.await_committed(total)
        filler = small_disk / "filler"
        with filler.open("wb", buffering=0) as opened:
            _fill(opened.fileno())
        total += installation.send(readings(4_000, series=2_000, start=200))
        assert worker.await_end() == 1
    said = worker.said()
    assert re.search(
        rf"stopped \(disk-full\): expected local state in {folder}\S+; found .*No space left on device", said
    )
    assert "Free space on that disk" in said
    assert "bug" not in said
    stopped(installation, "has no space", name="again", code=2, data_folder=str(folder))
    installation.decide(total, "elsewhere", data_folder=str(installation.folder / "elsewhere"))
    installation.answered_once()
    assert_topics_hold_what_replay_computes(installation)


def _fill(descriptor: int) -> None:
    """Write until nothing is left."""
    try:
        while True:
            os.write(descriptor, b"x" * 4_096)
    except OSError:
        return


def test_too_many_open_files_end_the_worker_without_a_flood(installation: Installation) -> None:
    """The log names limit and remedy and stays small, and other workers get the partitions."""
    total = installation.send(readings(200))
    with installation.worker() as worker:
        worker.await_committed(total)
        open_files = len(list(Path(f"/proc/{worker.process.pid}/fd").iterdir()))
        limit = resource.prlimit(worker.process.pid, resource.RLIMIT_NOFILE)[1]
        resource.prlimit(worker.process.pid, resource.RLIMIT_NOFILE, (open_files, limit))
        asyncio.run(_steal(installation))
        total += installation.send(readings(200, start=200))
        assert worker.await_end() == 1
    said = worker.said()
    assert "file-limit" in said
    assert f"this process may open {open_files}" in said
    assert "LimitNOFILE" in said
    assert len(said) < 40_000, said
    installation.decide(total, "elsewhere", data_folder=str(installation.folder / "elsewhere"))
    installation.answered_once()


async def _steal(installation: Installation) -> None:
    """Take over the transactional ids, so that the worker needs new connections."""
    for partition in range(installation.partitions):
        await (await PartitionProducer.open(installation.settings(), partition)).stop()
