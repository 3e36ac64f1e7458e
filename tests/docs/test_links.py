"""The docs: every link leads somewhere, and the index names every command."""

import re
from pathlib import Path

import pytest

from stream_app.cli import COMMANDS
from tests.deploy import ROOT

PAGES = [page for folder in ("docs", "schemas", "deploy") for page in (ROOT / folder).rglob("*.md")] + [
    *ROOT.glob("*.md")
]
LINK = re.compile(r"\]\(([^()#\s]*)(?:#([^()\s]+))?\)")


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, in the spelling of Markdown renderers."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Files exist, and pages have the linked headings; external addresses are not requested."""
    broken = []
    for target, anchor in LINK.findall(page.read_text()):
        if target.startswith(("http://", "https://")):
            continue
        file = page.parent / target if target else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(f"{target}#{anchor}")
    assert broken == []


def test_links_are_found() -> None:
    """The pages have links, including links to headings, so the test above checks something."""
    found = [link for page in PAGES for link in LINK.findall(page.read_text())]
    assert len(found) > 30
    assert any(anchor for _, anchor in found)


def test_the_index_names_every_command() -> None:
    """The table of docs/README.md and the command line agree."""
    row = re.search(r"^\| \[Commands\]\(\S+\) \| `([^`]+)`", (ROOT / "docs" / "README.md").read_text(), re.MULTILINE)
    assert row is not None
    assert sorted(row[1].split()) == sorted(COMMANDS)


def test_the_index_names_every_page() -> None:
    """For alerts, it names their list, which names each one (tests/deploy)."""
    index = ROOT / "docs" / "README.md"
    named = {(index.parent / target).resolve() for target, _ in LINK.findall(index.read_text()) if target}
    pages = {page for page in index.parent.rglob("*.md") if page.parent.name != "alerts" or page.stem == "README"}
    assert sorted(str(page.relative_to(ROOT)) for page in pages - named - {index}) == []
