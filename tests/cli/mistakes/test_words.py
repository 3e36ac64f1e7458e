"""On any input, a command ends with 1 or 2, in the project's words: no traceback and no library text."""

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from stream_app.cli import main
from tests.cli.mistakes.mistake import ENERGY, POLICY
from tests.cli.mistakes.test_mistakes import LIBRARY

WORDS = re.compile(
    LIBRARY.pattern + r"|<class|object at 0x|\[Error|KafkaError|JSONDecode|expected value|at line \d+ column|unexpected"
    r"|Extra data|codec can't|byte 0x|not subscriptable|NoneType|bool\b.*\bint\b|errno|None\b|Exception|'utf-8'"
)
"""Further phrases of the libraries used here."""
INPUTS: dict[str, bytes | None] = {
    "missing": None,
    "folder": None,
    "empty": b"",
    "blank": b"\n\n",
    "null": b"null\n",
    "list": b"[1, 2]\n",
    "object": b"{}\n",
    "number": b"17\n",
    "text": b'"home-7"\n',
    "open": b'{"series": "home-7", \n',
    "nan": b'{"series": NaN}\n',
    "deep": b"[" * 2_000 + b"]" * 2_000 + b"\n",
    "csv": ENERGY.encode(),
    "utf-16": ENERGY.encode("utf-16"),
    "latin-1": '{"series": "h\u00e4user"}\n'.encode("latin-1"),
    "binary": bytes(range(256)),
    "gzip": gzip.compress(ENERGY.encode()),
    "other": json.dumps({**POLICY, "epsilon": None, "scheme": 5, "type": ["policy"], "value": {"kind": None}}).encode(),
    "nulls": b'{"series":null,"timestamp":null,"entry":null,"sequence":null,"type":null,"end":null,"reason":null}\n',
}
COLUMNS = "--series home-7 --timestamp-column time --value-columns kwh"
COMMANDS = (
    f"replay BAD {COLUMNS} --policies policies.jsonl --out out",
    "replay BAD --policies policies.jsonl --out out",
    f"replay energy.csv {COLUMNS} --policies BAD --out out",
    f"replay energy.csv {COLUMNS} --policies policies.jsonl --key BAD --out out",
    f"replay energy.csv {COLUMNS} --policies policies.jsonl --config BAD --out out",
    f"send BAD {COLUMNS} --config away.toml",
    "send BAD --config away.toml",
    "send events.jsonl --config BAD",
    "policy BAD --config away.toml",
    "policy BAD --wait 1 --config away.toml",
    "policy policies.jsonl --config BAD",
    "landmarks home-7 --ics BAD --dry-run",
    "landmarks home-7 --add 5 --config BAD",
    "watermark home-7 --config BAD",
    "read ledger --config BAD",
    "topics --config BAD",
    "worker --config BAD",
    "recover --config BAD",
    "resend BAD --rejects rejects.jsonl --config away.toml",
    "resend backup.jsonl --rejects BAD --config away.toml",
    "audit --ledger BAD",
    "audit --ledger BAD --json",
    "audit --ledger BAD --releases BAD",
    "audit --ledger BAD --releases BAD --html page.html",
    "audit --ledger BAD --heads BAD --public-key BAD",
    "audit --proof BAD --ledger BAD --public-key BAD",
    "audit --prove home-7 --heads BAD --out proof.json",
    "audit --ledger BAD --correlation BAD",
    "explain home-7 5 --ledger BAD",
    "explain home-7 5 --ledger BAD --releases BAD",
    "standing home-7 --ledger BAD",
    "left --ledger BAD --without-aborted",
    "loss BAD",
    f"correlate BAD {COLUMNS}",
    "correlate BAD",
    "dummies BAD",
    "plan BAD",
    "plan policies.jsonl --correlation BAD",
    "plan policies.jsonl --config BAD",
    "verify BAD",
    "keys list BAD",
    "keys public BAD",
    "keys erase BAD --before 1",
    "check BAD",
    "check --config BAD",
    "left --config BAD",
)
READ = "csv"
"""Data where data are due."""
NOTHING = "empty blank"
"""Settings that change nothing, or a ledger without entries: there is nothing to report or to audit."""
RIGHT = {
    COMMANDS[0]: READ,
    COMMANDS[1]: NOTHING,
    COMMANDS[4]: NOTHING,
    "audit --ledger BAD": NOTHING,
    "audit --ledger BAD --json": NOTHING,
    "audit --ledger BAD --releases BAD": NOTHING,
    "audit --ledger BAD --releases BAD --html page.html": NOTHING,
    "left --ledger BAD --without-aborted": NOTHING,
    f"correlate BAD {COLUMNS}": READ,
    "plan policies.jsonl --config BAD": NOTHING,
}
"""Valid inputs, by command."""


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the inputs and whatever else a command needs besides a bad input."""
    folder = tmp_path_factory.mktemp("words")
    patch = pytest.MonkeyPatch()
    patch.chdir(folder)
    for name, content in INPUTS.items():
        if content is not None:
            (folder / f"{name}.csv").write_bytes(content)
            (folder / f"{name}.jsonl").write_bytes(content)
    for ending in ("csv", "jsonl"):
        (folder / f"folder.{ending}").mkdir()
    (folder / "energy.csv").write_text(ENERGY)
    (folder / "policies.jsonl").write_text(json.dumps(POLICY) + "\n")
    (folder / "events.jsonl").write_text('{"series":"home-7","timestamp":5,"value":1}\n')
    (folder / "away.toml").write_text('bootstrap_servers = "127.0.0.1:1"\n')
    for name in ("backup", "rejects"):
        (folder / f"{name}.jsonl").write_text('{"end":{"0":0}}\n')
    patch.setenv("LANDMARK_STREAM_BOOTSTRAP_SERVERS", "127.0.0.1:1")
    yield folder
    patch.undo()


@pytest.mark.parametrize("command", COMMANDS)
def test_no_word_of_a_library(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """No input in place of the valid one makes a command print a library's words."""
    told: list[str] = []
    for name in INPUTS.keys() - RIGHT.get(command, "").split():
        file = f"{name}.csv" if COLUMNS in command else f"{name}.jsonl"
        try:
            code = main([file if word == "BAD" else word for word in command.split()])
        except SystemExit as ended:
            code = int(str(ended.code))
        out, err = capsys.readouterr()
        if code not in {1, 2} or WORDS.search(out + err):
            told.append(f"{name}: {code}: {out[-300:]}{err[-600:]}")
    assert not told, "\n".join(told)
