"""Ledgers that `left` refuses because it cannot know enough, and what it says about aborted entries."""

import pytest

from stream_app.audit.files import UNCOMMITTED
from stream_app.cli import main
from tests.cli.ledger.test_left import HOUR, Record, Site, left_of, lines, readings, ruled, written
from tests.command import Cli


@pytest.mark.parametrize("level", ["w-event", "landmark"])
def test_it_refuses_what_it_cannot_know(site: Site, level: str) -> None:
    """The exit code is 1 and the reason is named; series that can continue still get their records."""
    window: Record = {"epsilon": 0.5, "scheme": {"name": "uniform"}}
    wide, narrow = ({"level": level, "step": HOUR, "window": steps} for steps in (9, 2))
    old, _ = site.installed(
        "old",
        [
            *[ruled("wide", protection=wide, **window), *readings("wide", 0)],
            *[ruled("narrow", protection=narrow, **window | {"epsilon": 0.4}), *readings("narrow", 1)],
            *[ruled("home"), *readings("home", 0)],
        ],
    )
    # A version of shorter windows, as ledgers hold it from before such ones were refused.
    ledger = site.folder / "old" / "ledger.jsonl"
    for nth in (2, 3):
        old[nth] |= {"series": "wide", "sequence": nth + 1, "policy": 2, "previous": old[nth - 1]["hash"]}
    ledger.write_bytes(written(old))
    begun, said = site.left("old", code=1)
    assert {record["series"] for record in begun} == {"home"}
    assert f"wide: windows of an earlier version extend to {9 * HOUR}; you must decide" in said
    begun_entry = {**old[0], "series": "ward"}
    tail = {"key": old[0]["key"], "epoch": 0, "previous": old[0]["hash"], "hash": "0" * 64}
    exposed = {"series": "ward", "sequence": 2, "entry": "intrusion", "policy": 1, "intrusion_nano": 1}
    ledger = site.folder / "exposed.jsonl"
    ledger.write_bytes(written([begun_entry, exposed | {"exposed": [[0, 3 * HOUR]]} | tail]))
    assert "exposed steps before" in left_of(ledger, code=1)[1]


def test_a_ledger_that_does_not_tell_all_is_refused(site: Site) -> None:
    """If an entry is missing, of an unknown kind, or conflicts with another, nobody knows what was spent."""
    old, _ = site.installed("old", [ruled("home"), *readings("home", 0, 1, 2)])
    other = {**old[-1], "hash": "0" * 64}
    ledger = site.folder / "told.jsonl"
    for told, why in (
        (old[1:], "entry 1 is missing"),
        ([*old[:2], old[3]], "entry 3 is missing"),
        ([*old[:2], {**old[2], "previous": "0" * 64}], "entry 3 follows a different entry"),
        ([*old, other], "two different entries have number 4"),
        ([*old, {**old[-1], "entry": "later"}], "unknown entry kind"),
    ):
        ledger.write_bytes(written(told))
        begun, said = left_of(ledger, code=2)
        assert (begun, why in said) == ([], True), said


def test_a_file_says_whether_it_holds_aborted_entries(site: Site, cli: Cli) -> None:
    """Committed entries alone are refused unless declared complete; `audit` refuses a file with aborted ones."""
    old, _ = site.installed("old", [ruled("home"), *readings("home", 0, 1, 2)])
    begun, _ = site.left("old")
    plain, marked = site.folder / "old" / "ledger.jsonl", site.folder / "marked.jsonl"
    # As a log has it that was read uncommitted: a batch that was aborted, and the same entries again.
    claim = {"entry": "claim", "application": "landmark-stream", "prefix": "landmark"}
    marked.write_bytes(UNCOMMITTED + b"\n" + written([claim, *old[:3], *old[1:]]))
    cli.said()
    assert lines(cli("left", "--ledger", marked).out) == begun
    assert (
        "was not read with --uncommitted, so it lacks aborted entries, which count too"
        in cli("left", "--ledger", plain, code=2).err
    )
    assert "omit --without-aborted" in cli("left", "--ledger", marked, "--without-aborted", code=2).err
    for words in (["audit"], ["audit", "--html", str(site.folder / "page.html")], ["explain", "home", "0"]):
        assert "--uncommitted" in cli(*words, "--ledger", marked, code=2).err
    marked.write_bytes(plain.read_bytes() + UNCOMMITTED + b"\n")
    assert main(["audit", "--ledger", str(marked)]) == 2
    assert "specify a readable file" in cli("left", "--ledger", site.folder / "none.jsonl", code=2).err


def test_json_tells_the_same(site: Site, cli: Cli) -> None:
    """Each series has an object: records, epsilon in nano-epsilon, their start, and why there are none."""
    site.installed("old", [ruled("home"), *readings("home", 0), ruled("closed"), {"type": "close", "series": "closed"}])
    begun, said = site.left("old")
    cli.said()
    assert main(["left", "--ledger", str(site.folder / "old" / "ledger.jsonl"), "--without-aborted", "--json"]) == 0
    home, closed = cli.said().document["series"]
    assert home["records"] == begun
    assert home["epsilon_nano"] == round(begun[-1]["epsilon"] * 10**9)
    assert (home["begin_ms"], home["by_hand"]) == (HOUR, False)
    assert (closed["records"], closed["why"]) == ([], "closed, so it gets no policy")
    assert [home["message"], closed["message"]] == said.splitlines()
