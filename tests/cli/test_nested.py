"""Files that are nested too deeply: each command refuses them in one sentence, whatever Python's limit is."""

from pathlib import Path

import pytest

from tests.cli.mistakes.mistake import ENERGY
from tests.command import Cli

POLICY = (
    '{"type":"policy","series":"a","version":1,"epsilon":1.0,"protection":%s,"scheme":{"name":"uniform"},"value":%s}\n'
)
NUMBER = '{"kind":"number","lower":0,"upper":10,"resolution":1}'
COMMANDS = {
    "check value.jsonl": "value.jsonl:1: ",
    "check landmarks.jsonl": "landmarks.jsonl:1: protection.landmarks.0: ",
    "plan landmarks.jsonl": "landmarks.jsonl:1: protection.landmarks.0: ",
    "replay events.jsonl --out out": "events.jsonl:2: ",
    "audit --ledger events.jsonl": "is a ledger entry",
    "left --ledger events.jsonl --without-aborted": "events.jsonl: ",
    "inspect events.jsonl": "nested too deeply",
    "check --config nested.toml": "nested.toml: is nested too deeply",
    "convert energy.csv --series a --mapping nested.toml": "nested.toml is nested too deeply",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_is_nested_too_deeply_is_refused(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    """The exit code is 2, and the message names the file."""
    monkeypatch.chdir(tmp_path)
    levels = 20_000 if "toml" in command else 1_000
    lists, objects = "[" * levels + "1" + "]" * levels, '{"a":' * levels + "1" + "}" * levels
    Path("value.jsonl").write_text(POLICY % ('{"level":"event"}', objects))
    Path("landmarks.jsonl").write_text(POLICY % (f'{{"level":"landmark","landmarks":{lists}}}', NUMBER))
    Path("events.jsonl").write_text(
        POLICY % ('{"level":"event"}', NUMBER)
        + "".join(f'{{"series":"a","timestamp":{1_769_000_000_000 + nth},"value":{objects}}}\n' for nth in range(3))
    )
    Path("nested.toml").write_text(f"x={lists}")
    Path("energy.csv").write_text(ENERGY)
    said = cli(*command.split(), code=2)
    assert COMMANDS[command] in said.err + said.out
