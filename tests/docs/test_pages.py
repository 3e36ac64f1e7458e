"""Every page is followed: what it says to type works, and prints what it says."""

import re
from pathlib import Path

import pytest

from stream_app.localbroker.broker import LocalBroker
from tests.deploy import ROOT
from tests.docs.page import blocks_of
from tests.docs.reader import Reader, stops_broker, wants_broker
from tests.programs import program

PAGES = sorted([*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")])
WITH_COMMANDS = [page for page in PAGES if "```sh" in page.read_text()]


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=_name)
def test_page_does_what_it_says(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Commands end well in the order of the page, and output is as it stands there."""
    blocks = blocks_of(page.read_text())
    if not any(block.runs for block in blocks):
        return  # all its blocks give reasons, which the next test counts
    for name in sorted(set().union(*(block.needs for block in blocks if block.runs))):
        program(name)
    assert not stops_broker(blocks), "the broker serves other pages too: skip that block"
    broker: LocalBroker | None = request.getfixturevalue("broker") if wants_broker(blocks) else None
    name = re.sub(r"\W", "-", page.stem).lower()
    assert Reader(tmp_path, name, broker).follow(blocks) is None


def test_few_blocks_are_skipped() -> None:
    """What no test runs is listed (``pytest -s``), has a reason, and is the small part."""
    blocks = {
        page: [block for block in blocks_of(page.read_text()) if block.language == "sh"] for page in WITH_COMMANDS
    }
    skipped = [(page, block) for page, found in blocks.items() for block in found if block.skip is not None]
    total = sum(map(len, blocks.values()))
    print(f"\n{len(skipped)} of {total} blocks of commands are not run:")
    for page, block in skipped:
        print(f"{_name(page)}:{block.line}: {block.skip}")
    assert len(skipped) <= total / 3


def test_pages_are_found() -> None:
    """The tests above look at something, folders included."""
    assert ROOT / "docs" / "policies.md" in PAGES
    assert len(WITH_COMMANDS) > 5
