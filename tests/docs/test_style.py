"""Phrases that docs/style.md replaces stand in no page, no help and no message."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy import ROOT

STYLE = ROOT / "docs" / "style.md"
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
PHRASES = dict(ROW.findall(STYLE.read_text().partition("## Phrases")[2]))
PHRASES.pop("do not write")


def found_in(text: str) -> list[str]:
    """Return the phrases that a text has, each with its replacement."""
    return [
        f"{phrase} -> {better}"
        for phrase, better in PHRASES.items()
        if re.search(
            rf"(?<![\w-]){re.escape(phrase).replace(chr(92) + ' ', chr(92) + 's+')}(?![\w-])", text, re.IGNORECASE
        )
    ]


def messages(file: Path) -> Iterator[str]:
    """Yield the texts of a module that are no docstrings: help, messages, what metrics and alerts say."""
    tree = ast.parse(file.read_text())
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield node.value


PAGES = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "schemas").glob("*.md")} - {STYLE})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_have_none(page: Path) -> None:
    """Commands and what they print are looked for in messages."""
    assert found_in(FENCED.sub("", page.read_text())) == []


def test_messages_have_none() -> None:
    """Help, errors and what metrics say too."""
    found = {
        f"{file.relative_to(ROOT)}: {text}": phrases
        for file in sorted((ROOT / "stream_app").rglob("*.py"))
        for text in messages(file)
        if (phrases := found_in(text))
    }
    assert found == {}


def test_phrases_are_found() -> None:
    """Over the end of a line and at the start of a sentence; within a longer word they are none."""
    assert found_in("It hangs\non the key.") == ["hangs on -> depends on"]
    assert found_in("But for that") == ["but for -> except for"]
    assert found_in("It changes only") == []
