"""AsyncAPI's own parser, which checks more than the form: references, including those to other files."""

import hashlib
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from stream_app.localbroker.machine import default_cache
from tests.programs import program
from tests.schemas.catalogue import FOLDER

PARSER = Path(__file__).parent / "parser"
ERROR, WARNING = 0, 1
CHANNEL = '$ref: "#/channels/heads"'
SLIPS = {
    # An operation answers with a message that is not one of its channel's.
    "message": (CHANNEL, f'{CHANNEL}\n    messages: [{{$ref: "#/components/messages/head"}}]'),
    # A schema that is not there.
    "schema": ("./head.v1.schema.json", "./head.v9.schema.json"),
}
"""Documents that have the form of AsyncAPI but are wrong, by what is wrong."""


@pytest.fixture(scope="module")
def parser() -> Path:
    """Return the parser's folder; if necessary, first install the pinned parser into a per-user cache."""
    program("npm")
    program("node")
    pinned = hashlib.sha256((PARSER / "package-lock.json").read_bytes()).hexdigest()[:16]
    target = default_cache().with_name(f"asyncapi-parser-{pinned}")
    if not target.is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as work:
            shutil.copytree(PARSER, Path(work) / "parser")
            install = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
            install += ["--cache", str(Path(work) / "cache")]
            subprocess.run(install, cwd=Path(work) / "parser", check=True, stdin=subprocess.DEVNULL)
            (Path(work) / "parser").rename(target)
    return target


def found(parser: Path, documents: list[Path]) -> dict[str, list[tuple[int, str]]]:
    """Return errors and warnings with their codes, by the folder of each document."""
    shutil.copy(PARSER / "parse.mjs", parser)
    command = ["node", str(parser / "parse.mjs"), *map(str, documents)]
    said = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return {
        Path(document).parent.name: [(severity, code) for severity, code, _ in findings if severity <= WARNING]
        for document, findings in said.items()
    }


def test_the_parser_finds_nothing_but_slips(parser: Path, tmp_path: Path) -> None:
    """No error and no warning in the document; an error in each that has a slip."""
    documents = [FOLDER / "asyncapi.v1.yaml"]
    for name, (text, slip) in SLIPS.items():
        folder = shutil.copytree(FOLDER, tmp_path / name, ignore=shutil.ignore_patterns("examples"))
        document = folder / "asyncapi.v1.yaml"
        right = document.read_text()
        assert text in right
        document.write_text(right.replace(text, slip))
        documents.append(document)
    findings = found(parser, documents)
    assert findings.pop(FOLDER.name) == []
    assert set(findings) == set(SLIPS)
    assert all(ERROR in {severity for severity, _ in each} for each in findings.values()), findings
