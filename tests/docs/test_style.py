"""No page, message, docstring or comment contains a phrase that docs/style.md replaces."""

import ast
import re
import tokenize
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


def texts(file: Path) -> Iterator[str]:
    """Yield the texts of a module: help, messages, texts of metrics and alerts, docstrings and comments."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
    with tokenize.open(file) as source:
        yield from (
            token.string for token in tokenize.generate_tokens(source.readline) if token.type == tokenize.COMMENT
        )


PAGES = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "schemas").glob("*.md")} - {STYLE})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_have_none(page: Path) -> None:
    """Pages contain no such phrase, apart from commands and output; messages are checked in the code."""
    assert found_in(FENCED.sub("", page.read_text())) == []


def test_code_has_none() -> None:
    """Messages, docstrings and comments contain no such phrase either."""
    found = {
        f"{file.relative_to(ROOT)}: {text}": phrases
        for package in ("stream_app", "landmark_stream", "experiments", "benchmarks")
        for file in sorted((ROOT / package).rglob("*.py"))
        for text in texts(file)
        if (phrases := found_in(text))
    }
    assert found == {}


def test_phrases_are_found() -> None:
    """Phrases are found across a line break and at the start of a sentence, but not within a longer word."""
    assert found_in("It hangs\non the key.") == ["hangs on -> depends on"]
    assert found_in("But for that") == ["but for -> except for"]
    assert found_in("It changes only") == []
