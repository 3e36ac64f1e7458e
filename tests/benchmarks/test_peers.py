"""The benchmark `peers`: each answers every event once and is measured alike; the page shows the results."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.measures import peers
from benchmarks.peers import page, trial
from benchmarks.peers.programs import Programs
from benchmarks.peers.roster import PEERS, Command, Peer
from benchmarks.rig.process import ClientError
from benchmarks.rig.site import Ground
from tests.programs import program

SIZES = peers.PeerSizes(events=25_000, series=50, partitions=1, repeats=1, warm=5_000, seconds=1)
KINDS = ("release", "entry", "row")
TWICE = """
import asyncio, sys
from pathlib import Path
from benchmarks.peers import loop
from stream_app.setup.settings import Settings

def wrong(records):
    entries, releases, rows = loop.bare(records)
    return entries, releases + releases[:1], rows

asyncio.run(loop.serve(Settings.load(Path(sys.argv[1])), lambda: wrong))
"""


LONG = {"plain", "quix", "stock", "streams"}
"""Peers in `make long`: other people's programs, which are fetched, compiled or slow, and our second loop."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(peer.name, marks=[pytest.mark.long] * (peer.name in LONG))
        for peer in PEERS
        if peer.name != "streams-quick"
    ],
)
def test_answers_every_event_once(name: str, ground: Ground) -> None:
    """Otherwise a run fails; each event gives a release, a ledger record and a row, as long as the worker's.

    ``streams-quick`` is the program of ``streams``.
    """
    if name == "streams":
        program("javac")
    result = peers.run(ground, replace(SIZES, only=(name,)), lambda *_: None)
    figures = result.figures
    assert {f"{name}_{kind}" for kind in ("rate", "cpu", "resident")} <= figures.keys()
    assert figures[f"{name}_release_records"].median == 1
    assert 1 <= figures[f"{name}_entry_records"].median <= 1.1
    assert 0 < figures[f"{name}_row_records"].median <= 1.1
    for kind, length in zip(KINDS, (147, 517, 240), strict=True):
        assert figures[f"{name}_{kind}_bytes"].median == pytest.approx(length, rel=0.1)


def test_a_client_that_answers_twice_is_found(ground: Ground) -> None:
    """Only correct clients are measured: one extra release in each transaction ends the run."""
    twice = Peer("twice", "answers twice", lambda site, _: Command([sys.executable, "-c", TWICE, str(site.config)]))
    loads = trial.Loads(0, 5_000, 1, ())
    with pytest.raises(ClientError, match=r" 0 of \d+ events have none, [1-9]\d* releases are surplus"):
        trial.tried(ground, twice, Programs(ground.folder), SIZES, loads, lambda *_: None)


def test_the_page_shows_what_was_found(tmp_path: Path) -> None:
    """The table of docs/benchmarks.md and a picture are made from docs/peers.json."""
    document = json.loads(page.FIGURES.read_bytes())
    assert page.markdown(document) in page.PAGE.read_text()
    page.draw(document, tmp_path / "peers.png")
    assert (tmp_path / "peers.png").stat().st_size > 10_000
