"""Correlation files: schema and reader agree except on what no schema can compute; `correlate` output fits."""

import json
from pathlib import Path
from typing import Any

import pytest

from stream_app.setup import correlationfile
from stream_app.setup.correlationfile import CorrelationFileError
from tests.command import Cli
from tests.schemas.catalogue import Example, examples, fits, label

HALF = [[0.5, 0.5], [0.5, 0.5]]
BEYOND: dict[str, dict[str, Any]] = {
    "schemas do not add up": {"backward": [[0.5, 0.4], [0.5, 0.5]], "forward": None},
    "rows are as long as there are rows": {"backward": [[1.0, 0.0]], "forward": None},
    "two members are not compared": {"backward": HALF, "forward": [[1]]},
    "an entry lies within the states": {"backward": {"states": 1, "entries": [[0, 0, 1], [0, 1, 0]]}, "forward": None},
    "no place stands twice": {"backward": {"states": 1, "entries": [[0, 0, 0.5], [0, 0, 0.5]]}, "forward": None},
}


def problem(folder: Path, text: bytes) -> str | None:
    """Return the reader's objection to a file, or None if the reader accepts it."""
    path = folder / "correlation.json"
    path.write_bytes(text)
    try:
        correlationfile.load(path)
    except CorrelationFileError as error:
        return error.problem
    return None


@pytest.mark.parametrize("example", [e for e in examples("valid") if e.record == "correlation"], ids=label)
def test_valid(tmp_path: Path, example: Example) -> None:
    """A valid example fits, and the reader accepts it."""
    assert fits("correlation", example.document)
    assert problem(tmp_path, example.value) is None


@pytest.mark.parametrize("example", [e for e in examples("invalid") if e.record == "correlation"], ids=label)
def test_invalid(tmp_path: Path, example: Example) -> None:
    """An invalid example does not fit, and the reader refuses it."""
    assert not fits("correlation", example.document)
    assert problem(tmp_path, example.value) is not None


@pytest.mark.parametrize("rule", BEYOND)
def test_rules_beyond_the_schema(tmp_path: Path, rule: str) -> None:
    """The schema accepts what it cannot compute, but the reader does not."""
    assert fits("correlation", BEYOND[rule])
    assert problem(tmp_path, json.dumps(BEYOND[rule]).encode()) is not None


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b"NaN", b"null", b'{"backward":[[NaN]],"forward":null}'])
def test_what_is_no_document(tmp_path: Path, text: bytes) -> None:
    """The file is refused, whatever its bytes; so is a missing file."""
    assert problem(tmp_path, text) is not None
    with pytest.raises(CorrelationFileError, match="there is no such file"):
        correlationfile.load(tmp_path / "missing.json")


@pytest.mark.parametrize(("states", "strength"), [("2", "0"), ("3", "0.5"), ("40", "1")])
def test_correlate_writes_what_fits(tmp_path: Path, cli: Cli, states: str, strength: str) -> None:
    """This holds for a strength, dense or sparse, and for data."""
    written = cli("correlate", "--strength", strength, "--states", states, "--json").out
    assert fits("correlation", json.loads(written))
    assert problem(tmp_path, written.encode()) is None
    table = tmp_path / "events.csv"
    table.write_text("t,v\n" + "".join(f"{n},{n * n % 7}\n" for n in range(30)))
    words = ["--series", "a", "--timestamp-column", "t", "--value-columns", "v", "--states", states, "--json"]
    assert fits("correlation", cli("correlate", table, *words).document)
