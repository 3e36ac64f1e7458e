"""``--wait``: `policy` and `watermark` print what a worker made of each record, and the rule that refused it."""

import json
from pathlib import Path

import pytest

from stream_app.cli.shared.answers import told
from stream_app.formats import wire
from stream_app.kafka.client.answer import Answer
from stream_app.kafka.client.sending import Place
from stream_app.localbroker.broker import LocalBroker
from tests.kafka.installation import Installation
from tests.run import policy


@pytest.fixture
def installation(broker: LocalBroker, tmp_path: Path, request: pytest.FixtureRequest) -> Installation:
    """An installation named after the test."""
    return Installation(broker, tmp_path, request.node.name.replace("test_", "").replace("_", "-"))


def test_policies_and_watermarks_are_answered(installation: Installation, capsys: pytest.CaptureFixture[str]) -> None:
    """Taken with 0, refused with 1 and its rule, and 3 where no worker answers; on a real broker."""
    file = installation.folder / "own.jsonl"
    file.write_text(json.dumps(policy("lone-1")) + "\n")

    def asked(*words: str) -> tuple[int, dict[str, object]]:
        code = installation.command(*words)
        said = capsys.readouterr()
        assert not said.err, said.err
        found: dict[str, object] = json.loads(said.out)
        return code, found

    code, answer = asked("policy", str(file), "--wait", "1")
    assert (code, answer["entry"], answer["reject"]) == (3, None, None)
    with installation.worker() as worker:
        worker.await_committed(1)
        file.write_text(json.dumps(policy("lone-1", 2)) + "\n")
        code, answer = asked("policy", str(file), "--wait", "60")
        assert (code, answer["reject"]) == (0, None)
        assert isinstance(answer["entry"], dict)
        assert answer["entry"]["policy"] == 2
        code, answer = asked("policy", str(file), "--wait", "60")
        assert code == 1
        assert isinstance(answer["reject"], dict)
        assert answer["reject"]["reason"] == "invalid-policy"
        code, answer = asked("watermark", "lone-1", "--at", "5", "--wait", "60")
        assert code == 1
        assert isinstance(answer["reject"], dict)
        assert answer["reject"]["reason"] == "malformed"


def test_a_watermark_that_nothing_waits_for_says_so() -> None:
    """In place of the meaning of `malformed`, which is that of any record."""
    record = wire.dump({"type": "watermark", "series": "home-7", "timestamp": 5, "seed": "0" * 64})
    assert told(Answer(Place(0, 1), reject={"reason": "malformed"}), 1, record) == (
        "refused (malformed): the series has one observation a step, so nothing waits for a watermark; one is for "
        "policies with `collect` or `protection.within`, and there with `absent` it has a seed"
    )
