"""Logs that lost their tail, as after a power loss: the loss is noticed, and nothing is written twice."""

import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from stream_app.localbroker.broker import LocalBroker
from tests.kafka.acts import stopped
from tests.kafka.evidence.cutlog import lose_power, pieces
from tests.kafka.installation import Installation, readings
from tests.kafka.replayed import assert_topics_hold_what_replay_computes

BATCH = 20


@dataclass(frozen=True)
class Loss:
    """What an installation decided before its broker lost power, and what is gone then."""

    transactions: dict[str, int]
    """The number of last transactions lost from each topic, by its meaning."""
    within: bool = False
    """Whether the marker of the transaction before them is lost too."""
    batches: int = 5
    rejects: int = 0
    """The number of records after the batches that lead only to rejects."""


LOSSES = {
    "releases-1": Loss({"releases": 1}),
    "releases-3": Loss({"releases": 3}),
    "kept": Loss({"changelog": 3}),
    "lost": Loss({"changelog": 3}),
    "within": Loss({"changelog": 2}, within=True),
    "rejects": Loss({"changelog": 1}, batches=2, rejects=5),
    "ledger": Loss({"changelog": 2, "ledger": 2}),
}


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Installation]]:
    """An installation for each loss, all on one broker, which lost power once and is back."""
    folder = tmp_path_factory.mktemp("cut")
    with LocalBroker.start(folder / "kafka") as broker, ThreadPoolExecutor() as pool:
        sites = dict(zip(LOSSES, pool.map(lambda name: _decided(broker, folder, name), LOSSES), strict=True))
        lose_power(broker, [end for name, loss in LOSSES.items() for end in _ends(sites[name], loss)])
        with LocalBroker.start(broker.folder) as back:
            yield {name: replace(site, broker=back) for name, site in sites.items()}


def _decided(broker: LocalBroker, folder: Path, name: str) -> Installation:
    """Decide batches, each with one reject."""
    installation = Installation(broker, folder / name, name, partitions=1, more={"batch_records": BATCH + 1})
    loss, total = LOSSES[name], 0
    with installation.worker() as worker:
        for number in range(loss.batches):
            stranger = {"series": "nobody", "timestamp": number, "value": 1}
            total += installation.send([*readings(BATCH, start=number * BATCH), stranger])
            worker.await_committed(total)
        assert worker.stop() == 0
    if loss.rejects:
        installation.decide(total + installation.send(readings(loss.rejects)))
    return installation


def _ends(installation: Installation, loss: Loss) -> Iterator[tuple[str, int]]:
    """Yield the offsets at which topics are cut off."""
    for meaning, count in loss.transactions.items():
        topic = getattr(installation.names, meaning)
        markers = [piece.offset for piece in pieces(installation.broker, topic) if piece.control]
        yield topic, markers[-count - 1] + (not loss.within)


@pytest.mark.parametrize("batches", [1, 3])
def test_releases_without_their_tail_are_noticed_at_the_next_start(
    sites: dict[str, Installation], capsys: pytest.CaptureFixture[str], batches: int
) -> None:
    """Readers would miss steps; the ledger shows the last batch, and the row shows those before it.

    While the input exists, `recover` has them published again.
    """
    installation = sites[f"releases-{batches}"]
    assert installation.command("topics", "--check") == (2 if batches > 1 else 0)
    assert ('"reason": "releases-short"' in capsys.readouterr().out) == (batches > 1)
    stopped(installation, "stopped (releases-short)")
    if batches > 1:  # without the input nobody can publish them again
        installation.forget_events(5 * (BATCH + 1))
        assert installation.command("recover") == 2
        assert "(releases-short)" in capsys.readouterr().err
    capsys.readouterr()
    assert installation.command("recover", *["--accept-lost-releases"] * (batches > 1)) == 0
    (told,) = json.loads(capsys.readouterr().out)["partitions"]
    given_up = sum(told["given_up"].values())
    assert (told["again"], given_up) == ((0, 3 * BATCH) if batches > 1 else (BATCH + 1, 0))
    total = installation.send(readings(BATCH, start=5 * BATCH)) + 5 * (BATCH + 1)
    installation.decide(total)
    assert len(installation.read(installation.names.releases)) == (6 - batches if batches > 1 else 6) * BATCH
    with installation.worker("b") as worker:
        worker.await_log("owns partitions [0]")
        worker.await_ready(200, "partitions [0]")
        assert worker.stop() == 0


@pytest.mark.parametrize("group", ["kept", "lost"])
def test_a_changelog_without_its_tail_is_settled(sites: dict[str, Installation], group: str) -> None:
    """Input with outputs is decided again silently, rejects too; a copy of the lost rows is then worthless."""
    installation = sites[group]
    written = _written(installation)
    if group == "lost":
        installation.set_offset(0)
    (installation.folder / "data-a").rename(installation.folder / "data-b")
    installation.more["batch_records"] = BATCH + 7  # one of them ends behind what has its outputs
    total = installation.send(readings(BATCH, start=5 * BATCH)) + 5 * (BATCH + 1)
    said = installation.decide(total, "a")
    known = f"input from {2 * (BATCH + 1)} to {5 * (BATCH + 1) - 1} is newer than the state but already has outputs"
    assert known in said
    assert all(new[: len(old)] == old for new, old in zip(_written(installation), written, strict=True))
    total += installation.send(readings(2 * BATCH, start=6 * BATCH))
    assert "the changelog was rewritten from an earlier point" in installation.decide(total, "b")
    _assert_once(installation)


def test_a_changelog_cut_within_a_transaction_is_rebuilt(sites: dict[str, Installation]) -> None:
    """The next commit would commit its half: the worker stops, and `recover` writes every row after it."""
    installation = sites["within"]
    shutil.rmtree(installation.folder / "data-a")
    stopped(installation, "stopped (changelog-short)")
    assert installation.command("recover") == 0
    total = installation.send(readings(BATCH, start=5 * BATCH)) + 5 * (BATCH + 1)
    installation.decide(total)
    _assert_once(installation)


def test_rejects_alone_tell_what_was_decided(sites: dict[str, Installation]) -> None:
    """Input that led only to rejects has its outputs too."""
    installation = sites["rejects"]
    installation.set_offset(0)
    shutil.rmtree(installation.folder / "data-a")
    total = installation.send(readings(BATCH, start=2 * BATCH)) + 2 * (BATCH + 1) + 5
    installation.decide(total)
    _assert_once(installation)


def test_releases_tell_of_a_ledger_that_lost_its_tail(sites: dict[str, Installation]) -> None:
    """If the changelog's tail is gone too, only they show it; and nothing is decided without its entry."""
    installation = sites["ledger"]
    shutil.rmtree(installation.folder / "data-a")
    stopped(installation, "stopped (ledger-short)")


def _written(installation: Installation) -> list[list[bytes]]:
    names = installation.names
    return [
        [record.value for record in installation.read(topic, "read_uncommitted")]
        for topic in (names.ledger, names.releases, names.rejects)
    ]


def _assert_once(installation: Installation) -> None:
    installation.answered_once()
    places = [(record.key, record.value) for record in installation.read(installation.names.ledger)]
    assert len(set(places)) == len(places)
    assert installation.command("audit") == 0
    assert_topics_hold_what_replay_computes(installation)
