"""Every page is followed: its commands work and print what the page shows."""

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


SHOWN_ELSEWHERE = {
    "docs/heads.md",  # tests/kafka/owner/test_heads.py, tests/cli/ledger/test_audit_heads.py
    "docs/how-to/back-up-and-restore.md",  # tests/kafka/rebuild/test_backup.py and test_resend.py
    "docs/how-to/keys.md",  # tests/kafka/test_key_life.py, tests/cli/operating/test_keys.py
    "docs/how-to/scale-out.md",  # tests/faults/load/test_scale.py, tests/kafka/client/test_silent_brokers.py
}
"""Pages that need a real broker and run in `make long`, with the tests that cover each in `make test`."""


def _marks(page: Path) -> list[pytest.MarkDecorator]:
    """Return the marks that a page needs, which cannot be derived from the code of its test."""
    marks = [pytest.mark.broker] if wants_broker(blocks_of(page.read_text())) else [pytest.mark.slow]
    return [*marks, pytest.mark.long] if _name(page) in SHOWN_ELSEWHERE else marks


@pytest.mark.parametrize("page", [pytest.param(page, id=_name(page), marks=_marks(page)) for page in WITH_COMMANDS])
def test_page_does_what_it_says(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The commands succeed in the order of the page, and their output is as shown there."""
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
    """Blocks that no test runs are few and listed (``pytest -s``), each with a reason."""
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
    """The tests above cover existing pages, including those in subfolders."""
    assert ROOT / "docs" / "policies.md" in PAGES
    assert {_name(page) for page in WITH_COMMANDS} >= SHOWN_ELSEWHERE
    assert len(WITH_COMMANDS) > 5
