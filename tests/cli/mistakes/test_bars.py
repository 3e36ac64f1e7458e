"""Every progress bar on a terminal shows the total and the time left."""

import json
import re
from pathlib import Path

import pytest

from stream_app.cli import main
from stream_app.localbroker.broker import LocalBroker
from tests.cli.test_plain import replaying
from tests.kafka.installation import Installation, readings
from tests.run import MADE_UP, policy
from tests.terminal import CONTROL, terminal

BAR = re.compile(r"([a-z]+(?: [0-9]+)?) +[━╸╺ ]+ +([0-9]+)% +([0-9]+:[0-9]{2}:[0-9]{2})")
"""A bar with its share and its time; one of an unknown total has neither."""


def bars_of(*words: str, code: int = 0) -> set[str]:
    """Run a command on a terminal; return the names of the bars that showed a share and a time."""
    with terminal(*words) as shown:
        assert shown.end() == code, shown.text
    plain = re.sub(rf"{CONTROL}\[[0-9;?]*[a-zA-Z]", "", shown.text)
    return {found[1] for found in BAR.finditer(plain)}


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with events, a policy for them and their ledger."""
    folder = tmp_path_factory.mktemp("replayed")
    assert main(replaying(folder)) == 0
    return folder


COMMANDS = {
    "replay": (*MADE_UP, "events.jsonl", "--policies", "policies.jsonl", "--out", "again"),
    "audit": ("--ledger", "out/ledger.jsonl", "--releases", "out/releases.jsonl"),
    "explain": ("home-7", "5", "--ledger", "out/ledger.jsonl"),
    "standing": ("home-7", "--ledger", "out/ledger.jsonl"),
    "left": ("--ledger", "out/ledger.jsonl", "--without-aborted"),
    "correlate": ("events.jsonl", "--states", "2"),
    "plan": ("own.jsonl", "--steps", "50"),
    "verify": ("own.jsonl", "--runs", "400", "--seed", "1", "--jobs", "1"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_bars_of_files(name: str, replayed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that read files or work on their own show bars."""
    monkeypatch.chdir(replayed)
    document = policy("home-7", protection={"level": "event"})
    (replayed / "own.jsonl").write_text(json.dumps(document) + "\n")
    code = 3 if name == "verify" else 0
    assert name in bars_of(name, *COMMANDS[name], code=code)


def test_bars_of_topics(broker: LocalBroker, tmp_path: Path) -> None:
    """Commands that read and write topics show bars: send, answers, audit, recover, resend."""
    installation = Installation(broker, tmp_path, "bars", partitions=1)
    events = tmp_path / "events.jsonl"
    events.write_text("".join(json.dumps(each) + "\n" for each in readings(2_000)))
    config = installation.config(f'key_file = "{installation.folder / "key"}"')
    assert "send" in bars_of("send", str(events), "--config", config)
    with installation.worker() as worker:
        worker.await_committed(2_000)
        assert "answers" in bars_of("send", str(events), "--config", config, "--wait", "60", code=1)
        assert worker.stop() == 0
    assert "audit" in bars_of("audit", "--config", config)
    assert "partition 0" in bars_of("recover", "--config", config, code=0)
    copied = Installation(broker, tmp_path / "copied", "bars-copied", partitions=1)
    lines = [
        {
            "topic": installation.names.events,
            "partition": 0,
            "offset": nth,
            "key": each["series"],
            "value": json.dumps(each),
        }
        for nth, each in enumerate(readings(2_000))
    ]
    end = '{"end":{"0":2000}}\n'
    (tmp_path / "backup.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + end)
    (tmp_path / "rejects.jsonl").write_text(end)
    words = (str(tmp_path / "backup.jsonl"), "--rejects", str(tmp_path / "rejects.jsonl"))
    assert "resend" in bars_of("resend", *words, "--config", copied.config())
