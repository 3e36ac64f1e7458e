"""A page of Markdown as a sequence of fenced blocks."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from tests.deploy import ROOT
from tests.docs.transcript import literal
from tests.programs import ELSEWHERE, PACKAGES

_ATTRIBUTES = {"sh": {"skip", "exit", "needs"}, "text": set[str]()}
_FENCE = "```"
_LISTED = PACKAGES.keys() | ELSEWHERE.keys()


class PageError(Exception):
    """A page that cannot be followed; the message names the line."""


@dataclass(frozen=True)
class Block:
    """A fenced block: ``line`` is the line of its opening fence, from 1; ``text`` ends with a line break."""

    line: int
    language: str
    text: str
    skip: str | None = None
    exit: int = 0
    file: str | None = None
    needs: frozenset[str] = frozenset()
    """The programs from `tests.programs` that it needs and not every machine has."""

    @property
    def runs(self) -> bool:
        """Whether the block has commands that are run."""
        return self.language == "sh" and self.skip is None


def blocks_of(markdown: str) -> tuple[Block, ...]:
    """Return a page's blocks in order.

    Raises:
        PageError: for an unclosed fence, an attribute that no block of its language has, a reason to skip that is not
            given in words, a fence without a language directly after commands, or a ``text`` block that shows the
            output of nothing, or any output, or for other programs than ``needs`` names.
    """
    blocks: list[Block] = []
    for line, info, text in _fenced(markdown):
        block = _block(line, info, text)
        if block.language == "text":
            if not any(before.language == "sh" for before in blocks):
                raise PageError(
                    f"line {line}: `text` is the output of a `sh` block before it; a drawing has no language"
                )
            if not any(literal(row) for row in text.splitlines()):
                raise PageError(f"line {line}: nothing but `…`: every output would do")
        if not block.language and blocks and blocks[-1].language == "sh":
            raise PageError(f"line {line}: a drawing behind commands passes for output: call it `text`")
        if block.skip is not None and len(block.skip.split()) < 3:
            raise PageError(f"line {line}: skipped for no reason: say why nobody can run it here")
        named = " ".join(sorted(_programs(block.text)))
        if block.runs and named.split() != sorted(block.needs):
            raise PageError(f'line {line}: say needs="{named}": that is what its commands run beyond Python and Java')
        blocks.append(block)
    return tuple(blocks)


def _fenced(markdown: str) -> Iterator[tuple[int, str, str]]:
    opened: tuple[int, str, int] | None = None
    rows: list[str] = []
    for number, row in enumerate(markdown.splitlines(), 1):
        inner = row.lstrip(" ")
        if opened is None and inner.startswith(_FENCE):
            opened, rows = (number, inner.removeprefix(_FENCE).strip(), len(row) - len(inner)), []
        elif opened is not None and inner.rstrip() == _FENCE:
            yield opened[0], opened[1], "".join(f"{found[opened[2] :]}\n" for found in rows)
            opened = None
        elif opened is not None:
            rows.append(row)
    if opened is not None:
        raise PageError(f"line {opened[0]}: a block that is never closed")


def _programs(commands: str) -> set[str]:
    """Return the listed programs named in commands, or in an example that the commands run."""
    examples = (ROOT / name for name in re.findall(r"examples/[\w./-]+", commands))
    texts = [commands, *(example.read_text() for example in examples if example.is_file())]
    return {name for name in _LISTED for text in texts if re.search(rf"(?<![\w./-]){name}(?![\w-])", text)}


def _block(line: int, info: str, text: str) -> Block:
    language, *words = shlex.split(info) or [""]
    given = dict(word.partition("=")[::2] for word in words)
    allowed = _ATTRIBUTES.get(language, {"file"} if language else set())
    if unknown := sorted(given.keys() - allowed):
        raise PageError(f"line {line}: `{language}` has no attribute {', '.join(unknown)}; it has {sorted(allowed)}")
    needs = frozenset(given.get("needs", "").split())
    return Block(line, language, text, given.get("skip"), int(given.get("exit", "0")), given.get("file"), needs)
