"""Pages named by messages and alerts: each one exists and has the heading."""

import ast
import re
from functools import cache

import pytest

from stream_app.manual import page_at
from tests.deploy import ROOT
from tests.deploy.queries import RUNBOOKS, rules

NAME = re.compile(r"([\w/-]+\.md)(?:#([\w-]+))?")


@cache
def named() -> tuple[tuple[str, str], ...]:
    """Return page and anchor of every page that the program or an alert can name, in order."""
    texts = [rule["annotations"]["runbook_url"].removeprefix(RUNBOOKS) for rule in rules() if "alert" in rule]
    for text in (file.read_text() for file in (ROOT / "stream_app").rglob("*.py")):
        for node in ast.walk(ast.parse(text)) if "page_at" in text else ():
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Name) and called.id == "page_at":
                texts += [str(each.value) for each in ast.walk(node) if isinstance(each, ast.Constant)]
    pages = {text: NAME.fullmatch(text) for text in texts}
    assert all(pages.values()), pages
    return tuple(sorted({(found[1], found[2] or "") for found in pages.values() if found is not None}))


@pytest.mark.parametrize(("page", "anchor"), named())
def test_every_named_page_has_its_heading(page: str, anchor: str) -> None:
    """Each anchor is spelled as Markdown renderers spell it."""
    headings = re.findall(r"^#+ (.+)$", (ROOT / "docs" / page).read_text(), re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}
    assert not anchor or anchor in anchors


def test_pages_are_found() -> None:
    """Alerts and remedies name pages, and the program's texts name pages in no other way."""
    assert {"operating.md", "how-to/more-partitions.md", "alerts/LandmarkPartitionsMissing.md"} <= {*dict(named())}
    for file in (ROOT / "stream_app").rglob("*.py"):
        tree = ast.parse(file.read_text())
        told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
        texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in told]
        assert not [text for text in texts if isinstance(text, str) and re.search(r"docs/[\w/-]+\.md", text)]


def test_a_named_page_is_told_with_its_folder() -> None:
    """The message names both the page and the command that prints its folder."""
    assert page_at("operating.md") == "docs/operating.md (`landmark-stream files docs` prints the path of docs/)"
