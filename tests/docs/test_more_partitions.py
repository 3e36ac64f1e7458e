"""The page on more partitions, followed on a real broker: an events topic that grew, and how to continue."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stream_app.cli import main
from stream_app.kafka.client.routing import router
from stream_app.localbroker.broker import LocalBroker
from tests.deploy import ROOT
from tests.docs.page import blocks_of
from tests.kafka.installation import POLICY, Installation, readings

PAGE = ROOT / "docs" / "how-to" / "more-partitions.md"


def test_what_waited_undecided_is_decided_once(
    broker: LocalBroker, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """With two partitions, then three, no event is lost or decided twice, and each series keeps its order."""
    policy = {**POLICY, "protection": {**POLICY["protection"], "spare": 20}}  # so that something is left
    old = Installation(broker, tmp_path / "old", "grown-old", partitions=2, policy=policy)
    total = old.send(readings(100))
    with old.worker() as worker:
        worker.await_committed(total)
        old.send(readings(60, start=100))  # some may be decided yet
        old.grow(old.names.events, 3)
        assert worker.await_end() == 1
    old.partitions = 3
    old.send(readings(60, start=160))
    assert any(router(2)(b"home-%d" % nth) != router(3)(b"home-%d" % nth) for nth in range(20))

    def printed(*words: str) -> str:
        capfd.readouterr()
        assert main([*words]) == 0
        return capfd.readouterr().out

    old.partitions = 2
    config = old.config()
    backup, undecided, left = (tmp_path / name for name in ("backup.jsonl", "undecided.jsonl", "left.jsonl"))
    backup.write_text(printed("read", "events", "--config", config))
    left.write_text(printed("left", "--config", config))
    (script,) = (block for block in blocks_of(PAGE.read_text()) if block.file == "undecided.py")
    done = subprocess.run([sys.executable, "-c", script.text, str(backup), "2"], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    undecided.write_bytes(done.stdout)
    waited = [json.loads(line) for line in undecided.read_text().splitlines()]
    before = _steps(old)
    assert len(waited) == 220 - len(before)

    new = Installation(broker, tmp_path / "new", "grown-new", partitions=3, more={"policies": ()})
    printed("send", str(left), "--config", new.config())
    printed("send", str(undecided), "--config", new.config())
    new.decide(len(left.read_text().splitlines()) + len(waited))
    fences = {(name, at) for name, at in _steps(new) if at % 3_600_000}
    after = [step for step in _steps(new) if step not in fences]
    assert [record.value for record in new.read(new.names.rejects)] == []
    assert sorted(before + after) == sorted((one["series"], one["timestamp"]) for one in readings(220))
    for installation in (old, new):
        assert main(["audit", "--config", installation.config()]) == 0


def _steps(installation: Installation) -> list[tuple[Any, Any]]:
    """Return series and timestamp of every release."""
    found = [json.loads(record.value) for record in installation.read(installation.names.releases)]
    return [(release["series"], release["timestamp"]) for release in found]
