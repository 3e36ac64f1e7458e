"""A command of the command line, run in this process: its exit code is checked, its output returned."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from stream_app.cli import main


class Said(NamedTuple):
    """What a command wrote to standard output and to standard error."""

    out: str
    err: str

    @property
    def document(self) -> Any:
        """Return standard output as JSON."""
        return json.loads(self.out)


class Cli:
    """A runner of commands; the fixture `cli` of `tests/conftest.py`."""

    def __init__(self, capsys: pytest.CaptureFixture[str], run: Callable[[Sequence[str]], int] = main) -> None:
        self._capsys = capsys
        self._run = run

    def __call__(self, *words: str | Path, code: int = 0) -> Said:
        """Run a command that must exit with ``code``; return all output since the last call."""
        found = self._run([str(word) for word in words])
        said = self.said()
        assert found == code, said
        return said

    def ended(self, *words: str, code: int = 2) -> Said:
        """Pass words at which the parser must exit with ``code``; return the output."""
        with pytest.raises(SystemExit) as ended:
            self._run(list(words))
        assert ended.value.code == code
        return self.said()

    def said(self) -> Said:
        """Return the output since the last call."""
        return Said(*self._capsys.readouterr())


def saved(file: Path, *records: Any) -> str:
    """Write records into a file, one per line; return its name."""
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(file)
