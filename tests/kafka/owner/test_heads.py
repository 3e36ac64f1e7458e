"""Signed heads of a live worker: at intervals and at its end, despite kills, zombies and half-written ones."""

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_app.cli import main
from stream_app.deciding.columns.batch import BatchDecider
from stream_app.formats.encoding import NO_HASH
from stream_app.heads.records import Head, Tree
from stream_app.heads.signing import SigningKey
from stream_app.kafka.evidence.row import PARTITION_KEY
from tests.cluster.log import Draft
from tests.cluster.site import NAMES, Site, until
from tests.kafka.acts import send_raw, stopped, write
from tests.kafka.installation import Installation, readings
from tests.patience import PATIENCE_SECONDS, awaited
from tests.run import observation

OFTEN = "300"
SELDOM = "600000"
HOMES = [f"home-{nth}" for nth in range(40)]
TOGETHER, ALONE = 1, 10**6
"""The smallest group of events that is decided together."""


@pytest.fixture
def installation(installation: Installation) -> Installation:
    """Give it a signing key."""
    key = SigningKey.create(installation.folder / "signing.key")
    (installation.folder / "public.pem").write_text(key.public_pem())
    installation.more["signing_key_file"] = str(installation.folder / "signing.key")
    return installation


def audit(installation: Installation, capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """Audit the topics with their heads; return the report."""
    capsys.readouterr()
    key = str(installation.folder / "public.pem")
    code = main(["audit", "--config", installation.config(), "--heads", "--public-key", key, "--json", *words])
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert code == (0 if report["holds"] else 1)
    return report


def heads(installation: Installation) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the committed heads, each with its partition."""
    for record in installation.read(installation.names.heads):
        document = json.loads(record.value)
        if document["type"] == "head":
            yield record.partition, document


def test_heads_cover_all_when_the_worker_stops(installation: Installation, capsys: pytest.CaptureFixture[str]) -> None:
    """Heads come at intervals and at the end; a live audit always holds, and a single series has its proof."""
    total = installation.send(readings(500))
    with installation.worker(head_interval_ms=OFTEN) as worker:
        worker.await_committed(total)
        for start in (500, 1000, 1500):
            total += installation.send(readings(500, start=start))
            assert audit(installation, capsys)["findings"] == []
        worker.await_committed(total)
        time.sleep(1)
        assert len({document["time"] for _, document in heads(installation)}) > installation.partitions
        total += installation.send(readings(40, start=2000))
        worker.await_committed(total)
        assert worker.stop() == 0
    report = audit(installation, capsys)
    assert report["findings"] == []
    assert (report["heads"]["partitions"], report["heads"]["unsigned"]) == (installation.partitions, 0)
    _prove(installation)


def _prove(installation: Installation) -> None:
    folder, key = installation.folder, str(installation.folder / "public.pem")
    proof = ["--prove", "home-7", "--heads", "--out", f"{folder}/proof.json"]
    assert main(["audit", "--config", installation.config(), *proof]) == 0
    mine = [record.value for record in installation.read(installation.names.ledger) if record.key == b"home-7"]
    (folder / "entry.jsonl").write_bytes(mine[-1])
    words = ["--proof", f"{folder}/proof.json", "--ledger", f"{folder}/entry.jsonl", "--public-key", key]
    assert main(["audit", *words]) == 0


def test_an_idle_partition_signs_in_time(installation: Installation, capsys: pytest.CaptureFixture[str]) -> None:
    """The last change is signed without any further input."""
    total = installation.send(readings(100))
    with installation.worker(head_interval_ms=OFTEN) as worker:
        worker.await_committed(total)
        awaited(lambda: not audit(installation, capsys)["heads"]["unsigned"])
        written = len(list(heads(installation)))
        time.sleep(1)
        assert len(list(heads(installation))) == written, "nothing changed, and a head was written"
        worker.stop()
    assert len(list(heads(installation))) == written


def test_an_old_ledger_is_signed_from_its_start(installation: Installation, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a key the worker says so and signs nothing; with one, the first head covers everything."""
    total = installation.send(readings(600))
    keyless = Installation(installation.broker, installation.folder, installation.name)
    assert "no checkpoints are signed (signing_key_file)" in keyless.decide(total)
    assert list(heads(installation)) == []
    assert [finding["code"] for finding in audit(installation, capsys)["findings"]] == ["head-missing"]
    with installation.worker(head_interval_ms=SELDOM) as worker:
        worker.await_log("owns partitions")
        awaited(lambda: len(list(heads(installation))) >= installation.partitions)
        worker.process.kill()
    report = audit(installation, capsys)
    assert (report["findings"], report["heads"]["unsigned"]) == ([], 0)


def test_a_killed_worker_leaves_no_gap(installation: Installation, capsys: pytest.CaptureFixture[str]) -> None:
    """Two workers run, one killed four times at any moment: heads follow each other, and in the end cover all."""
    draw = np.random.default_rng(5)
    total = installation.send(readings(1000))
    with installation.worker("b", head_interval_ms=OFTEN) as other:
        for number in range(1, 5):
            with installation.worker("a", head_interval_ms=OFTEN) as worker:
                worker.await_log("owns partitions")
                total += installation.send(readings(1000, start=1000 * number))
                time.sleep(float(draw.uniform(0, 3)))
                worker.process.kill()
        other.await_committed(total)
        assert other.stop() == 0
    installation.answered_once()
    report = audit(installation, capsys)
    assert (report["findings"], report["heads"]["unsigned"]) == ([], 0)
    for partition in range(installation.partitions):
        numbers = [document["number"] for place, document in heads(installation) if place == partition]
        assert numbers == list(range(1, len(numbers) + 1))


def test_a_kill_between_batch_and_head_loses_nothing(
    installation: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    """Committed but unsigned changes are found in the ledger again; a half-written head does not count."""
    total = installation.send(readings(600))
    with installation.worker(head_interval_ms=SELDOM) as worker:
        worker.await_committed(total)
        worker.process.kill()
    before = audit(installation, capsys)
    assert before["findings"] == []
    assert before["heads"]["unsigned"] == before["entries"]
    half = {installation.names.heads: [Draft(None, b'{"type":"leaves"}', 1)]}
    asyncio.run(write(installation, half, end="nothing"))  # as a worker does that dies before the commit
    total += installation.send(readings(100, start=600))
    installation.decide(total, head_interval_ms=SELDOM)
    report = audit(installation, capsys)
    assert (report["findings"], report["heads"]["unsigned"]) == ([], 0)


def test_a_zombie_signs_nothing(installation: Installation, capsys: pytest.CaptureFixture[str]) -> None:
    """A worker asleep past its session has changes left to sign; awake, it is fenced, and there is one chain."""
    total = installation.send(readings(1000))
    with (
        installation.worker("a", head_interval_ms=SELDOM) as sleeper,
        installation.worker("b", head_interval_ms=SELDOM) as other,
    ):
        sleeper.await_committed(total)
        total = installation.sleep_past_session(sleeper, other, total)
        assert sleeper.stop() == 0
        # It may have ended before the rebalance that its waking began: who stays signs at its end what it owns by then.
        other.await_committed(total + installation.send(readings(100, start=total)))
        assert other.stop() == 0
    installation.answered_once()
    report = audit(installation, capsys)
    assert (report["findings"], report["heads"]["unsigned"]) == ([], 0)


def test_a_worker_that_slept_through_its_assignment_goes_on(installation: Installation) -> None:
    """Awake, it fences the owner that took over, and is fenced; the next assignment is decided."""
    total = installation.send(readings(1000))
    with installation.worker("b", head_interval_ms=SELDOM) as other:
        other.await_committed(total)
        with installation.worker("a", head_interval_ms=SELDOM) as sleeper:
            deadline = time.monotonic() + PATIENCE_SECONDS
            while other.said().count("owns partitions") < 2 and time.monotonic() < deadline:
                time.sleep(0.001)
            installation.sleep_past_session(sleeper, other, total)
            assert sleeper.stop() == 0
        assert other.stop() == 0
    installation.answered_once()


def test_a_damaged_head_stops_the_partition(installation: Installation, capsys: pytest.CaptureFixture[str]) -> None:
    """The worker builds on no head that it did not sign, and on none that covers more than exists."""
    total = installation.send(readings(100))
    installation.decide(total)
    witness = installation.folder / "witness.jsonl"
    capsys.readouterr()
    assert main(["read", "heads", "--without-leaves", "--config", installation.config()]) == 0
    witness.write_text(capsys.readouterr().out)
    report = audit(installation, capsys, "--witness", str(witness))
    assert (report["findings"], report["heads"]["witnessed"]) == ([], report["heads"]["heads"])

    key = SigningKey.load(installation.folder / "signing.key")
    names = installation.names
    far = Head(names.ledger, 0, 2, 9, 10**12, 10**6, 0, Tree().root().hex(), NO_HASH, key.fingerprint).encode(key)
    for record, reason in ((far.replace(b'"number":9', b'"number":8'), "head-damaged"), (far, "ledger-short")):
        asyncio.run(send_raw(installation, names.heads, record))  # as only who may write to the topic can
        stopped(installation, f"({reason})", exit_when_stopped="any")
    codes = {finding["code"] for finding in audit(installation, capsys)["findings"]}
    assert codes == {"head-missing", "head-signature", "head-order"} | codes & {"head-chain"}


def test_heads_are_read_as_they_are(installation: Installation, capsys: pytest.CaptureFixture[str]) -> None:
    """`read heads` prints the records; options that do not fit heads are refused by name."""
    total = installation.send(readings(100))
    installation.decide(total)
    capsys.readouterr()
    assert main(["read", "heads", "--config", installation.config()]) == 0
    lines = capsys.readouterr().out.encode().splitlines()
    assert sorted(lines) == sorted(record.value for record in installation.read(installation.names.heads))
    assert main(["read", "heads", "--series", "home-1", "--config", installation.config()]) == 2
    assert "--prove" in capsys.readouterr().err
    assert main(["read", "ledger", "--without-leaves", "--config", installation.config()]) == 2
    assert "--without-leaves" in capsys.readouterr().err


async def test_what_is_decided_again_is_not_signed_again(site: Site, tmp_path: Path) -> None:
    """The rows lost their end, but all outputs exist."""
    site.signing_key = SigningKey.create(tmp_path / "signing.key")
    await site.goes_on("a", *([observation("home-1", nth, 1.0)] for nth in (1, 2, 3)))
    rows = [one.offset for one in site.committed(NAMES.changelog) if one.key == PARTITION_KEY]
    site.cluster.log(NAMES.changelog, 0).lose_tail(rows[1] + 2)
    heads = site.committed(NAMES.heads)
    assert heads
    assert site.decided() < site.sent
    await site.goes_on("b")
    assert site.committed(NAMES.heads) == heads


async def test_a_change_is_signed_when_its_time_has_come(site: Site, tmp_path: Path) -> None:
    """The signature waits neither for another event nor for the worker's end."""
    site.signing_key = SigningKey.create(tmp_path / "signing.key")
    partitions, feed = await site.working("a", settings={"head_interval_ms": 100})
    written = len(site.committed(NAMES.heads))
    await site.send(feed)
    await until(lambda: len(site.committed(NAMES.heads)) > written)
    await partitions.close()


@pytest.mark.parametrize("fault", [{"partition": 1}, {"topic": "another.ledger"}])
async def test_another_partitions_head_stops_it(site: Site, tmp_path: Path, fault: dict[str, Any]) -> None:
    """The head was signed with the key, but for another partition or another ledger."""
    site.signing_key = key = SigningKey.create(tmp_path / "signing.key")
    head = Head(NAMES.ledger, 0, 1, 1, 10**12, 0, 0, Tree().root().hex(), NO_HASH, key.fingerprint)
    await site.write({NAMES.heads: [Draft(None, replace(head, **fault).encode(key), 1)]})
    await site.stops("a", "head-damaged")


async def _signed(site: Site, key: SigningKey, fewest: int) -> list[Any]:
    """Decide a few events of each home; return the entries, the leaves, and what the head says of them."""
    batches = [[observation(home, moment, 1.0) for home in HOMES] for moment in range(4)]
    await site.goes_on("a", *batches, signing_key=key, fewest=fewest)
    written = [json.loads(one.value) for one in site.committed(NAMES.heads)]
    leaves = [page["leaves"] for page in written if page["type"] == "leaves"]
    heads = [(one["leaves"], one["root"]) for one in written if one["type"] == "head"]
    return [[one.value for one in site.committed(NAMES.ledger) if one.key], leaves, heads]


async def test_columns_are_signed_as_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last head names the last entry of each series, whichever way it was decided."""
    together: list[int] = []
    links = BatchDecider.links

    def noted(self: BatchDecider) -> Iterator[tuple[str, int, str]]:
        """Count the series that changed together, and return what the method returns."""
        together.append(len(self.places))
        return links(self)

    monkeypatch.setattr(BatchDecider, "links", noted)
    key = SigningKey.create(tmp_path_factory.mktemp("key") / "signing.key")
    found = await asyncio.gather(
        *(_signed(Site(tmp_path_factory.mktemp("site")), key, fewest) for fewest in (TOGETHER, ALONE)),
    )
    assert found[0] == found[1]
    assert sum(together) == 3 * len(HOMES), "a series' first event goes one by one, all of the other way too"
    assert len(found[0][0]) == 5 * len(HOMES)
    assert found[0][2][-1][0] == len(HOMES)
