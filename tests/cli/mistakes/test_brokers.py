"""Problems between commands and a real broker are reported in plain sentences with correct counts."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from stream_app.cli import main
from stream_app.localbroker.broker import LocalBroker
from tests.command import Cli
from tests.kafka.installation import START_MS, Installation, readings
from tests.patience import PATIENCE_SECONDS
from tests.run import ACCEPTING, policy


@pytest.fixture
def installation(broker: LocalBroker, tmp_path: Path, request: pytest.FixtureRequest) -> Installation:
    """An installation named after the test."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower()).strip("-")
    return Installation(broker, tmp_path, name)


def sending(installation: Installation, file: Path) -> subprocess.Popen[str]:
    """Start to send a file as it arrives: the whole is not checked first."""
    command = [sys.executable, "-m", "stream_app", "send", str(file), "--config", installation.config(), *ACCEPTING]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=installation.folder)


def written(installation: Installation) -> int:
    """Return how many records the events topic holds."""
    return len(installation.read(installation.names.events))


GO_ON = (
    "landmark-stream send: interrupted: the records already in the topic stay; send the whole file again: processed "
    "records are rejected as duplicate or late, at no cost\n"
)


def test_an_interrupted_sending_counts_what_the_topic_holds(installation: Installation) -> None:
    """Ctrl-C amid an endless file exits with 130; the message has the topic's record count and how to go on."""
    pipe = installation.folder / "endless.jsonl"
    os.mkfifo(pipe)
    lines = "".join(json.dumps(each) + "\n" for each in readings(5_000))

    def feed() -> None:
        """Write the same lines again and again, until nobody reads them."""
        with suppress(BrokenPipeError), pipe.open("w") as source:
            while True:
                source.write(lines)

    threading.Thread(target=feed, daemon=True).start()  # it waits for a reader, and ends with it
    with sending(installation, pipe) as process:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not written(installation):
            assert time.monotonic() < deadline
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
    held = written(installation)
    assert held > 0
    assert (process.returncode, out) == (130, "")
    assert err == f"landmark-stream send: {held:,} events were sent, and no other events\n{GO_ON}"


def test_an_interrupted_sending_that_waits_for_input_ends(installation: Installation) -> None:
    """One Ctrl-C is enough if a pipe gives nothing more; earlier input that was not sent is in no topic."""
    pipe = installation.folder / "slow.jsonl"
    os.mkfifo(pipe)
    with sending(installation, pipe) as process, pipe.open("w") as source:
        source.write("".join(json.dumps(each) + "\n" for each in readings(7_000)))
        source.flush()
        deadline = time.monotonic() + PATIENCE_SECONDS
        while written(installation) < 5_000:
            assert time.monotonic() < deadline
        time.sleep(0.5)  # it reads on
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert written(installation) == 5_000
    assert (process.returncode, err) == (
        130,
        f"landmark-stream send: 5,000 events were sent, and no other events\n{GO_ON}",
    )


COMMANDS = {
    "send": ("events.jsonl",),
    "send --wait": ("events.jsonl", "--wait", "5"),
    "policy": ("policy.jsonl",),
    "policy --wait": ("policy.jsonl", "--wait", "5"),
    "landmarks": ("home-7", "--add", str(START_MS)),
    "watermark": ("home-7",),
    "watermark --wait": ("home-7", "--wait", "5"),
    "read events": ("events",),
    "read releases": ("releases",),
    "resend": ("backup.jsonl", "--rejects", "rejects.jsonl"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_no_events_topic(
    name: str,
    broker: LocalBroker,
    tmp_path: Path,
    cli: Cli,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """One sentence with the remedy appears without delay; asking for a topic does not create it."""
    (tmp_path / "events.jsonl").write_text(json.dumps(next(iter(readings(1)))) + "\n")
    (tmp_path / "policy.jsonl").write_text(json.dumps(policy("home-7")) + "\n")
    for kind in ("backup", "rejects"):
        (tmp_path / f"{kind}.jsonl").write_text('{"end":{"0":0}}\n')
    config = tmp_path / "my.toml"
    config.write_text(f'bootstrap_servers = "{broker.bootstrap_servers}"\nprefix = "nowhere"\n')
    words = [str(tmp_path / word) if word.endswith(".jsonl") else word for word in COMMANDS[name]]
    command = name.split(maxsplit=1)[0]
    assert main([command, *words, "--config", str(config)]) == 2
    assert not caplog.records, "the client would ask for 40 s, and log that"
    out, err = cli.said()
    waits = "wait" in name or name == "landmarks"
    missing = "nowhere.events, nowhere.ledger, nowhere.rejects are" if waits else "nowhere.events is"
    missing = "nowhere.releases is" if name == "read releases" else missing
    said = (
        f"topic{'s' if waits else ''} {missing} missing; create missing topics with `topics`, or set `prefix` to the "
        "same value as the"
    )
    *unruled, told = err.splitlines()
    assert told.startswith(f"landmark-stream {command}: {said}"), err
    assert all(": no policy for home-0 is known here: " in line for line in unruled)
    assert out == ""


def test_a_remedy_of_all_topics_is_told_once(
    broker: LocalBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    """`topics --check` and a worker each report six missing topics in one sentence."""
    monkeypatch.chdir(tmp_path)
    lines = (f'bootstrap_servers = "{broker.bootstrap_servers}"', 'prefix = "none"', 'application = "none"')
    (tmp_path / "my.toml").write_text("\n".join(lines) + "\n")
    told = (
        "none.events, none.releases, none.ledger, none.rejects, none.heads, none-state-changelog: topic is missing, "
        "but must be there. Create it with `topics`; if it exists, allow this user to see it: `topics --acls` shows "
        "how\n"
    )
    assert cli("topics", "--check", "--config", "my.toml", code=2).out == told
    cli("keys", "new", "landmark.key")
    command = [sys.executable, "-m", "stream_app", "worker", "--config", "my.toml"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (2, f"landmark-stream worker: {told}")
