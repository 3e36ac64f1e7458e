"""The worker against a real broker: whole runs, crashes, zombies, and what stops a partition."""

import json
import re
import socket
import time
from typing import Any

import orjson
import pytest

from stream_app.monitoring.metrics import TABLE
from tests.kafka.acts import stopped
from tests.kafka.installation import HOUR_MS, START_MS, Installation, input_of, readings
from tests.kafka.replayed import assert_topics_hold_what_replay_computes
from tests.patience import PATIENCE_SECONDS


def test_topics_hold_what_replay_computes(installation: Installation) -> None:
    """Releases and ledger are byte for byte those of `replay`, per series; rejects name the same records."""
    events = [*readings(2_000), {"series": "car-1", "timestamp": 5, "value": 1}, {"series": "home-1", "timestamp": 1}]
    total = installation.send(events)
    installation.decide(total)
    installation.answered_once()
    assert_topics_hold_what_replay_computes(installation)
    assert sorted(json.loads(record.value)["reason"] for record in installation.read(installation.names.rejects)) == [
        "malformed",
        "no-policy",
    ]


def test_lost_input_stops_until_accepted(installation: Installation) -> None:
    """Events that were deleted before being decided are not skipped silently."""
    total = installation.send(readings(600))
    installation.decide(total)
    total += installation.send(readings(600, start=600))
    installation.forget_events(before=400)
    stopped(installation, "input-lost", exit_when_stopped="any")
    assert installation.command("recover", "--accept-lost-input") == 0
    installation.decide(total)
    kept = {(record.partition, record.offset) for record in installation.read(installation.names.events)}
    answers = [(record.partition, input_of(record)) for record in installation.read(installation.names.releases)]
    assert len(answers) == len(set(answers))
    assert kept <= set(answers)


def test_landmarks_are_registered_and_answered(installation: Installation, capsys: pytest.CaptureFixture[str]) -> None:
    """`landmarks` waits for the entry or reject of its own record, and says so if none comes in time.

    In addition, `send` counts the landmarks that met an event, by the default policies that it knows.
    """

    def asked(*words: str) -> tuple[int, dict[str, Any]]:
        code = installation.command("landmarks", *words)
        said = capsys.readouterr()
        assert not said.err, said.err
        return code, json.loads(said.out)

    code, told = asked("home-1", "--add", "2012-06-01T17:00[Europe/Paris]", "--wait", "1")
    assert (code, told["outcome"], told["entry"], told["reject"]) == (3, "no-answer", None, None)
    first = installation.folder / "first.jsonl"
    first.write_text(json.dumps({"series": "home-1", "timestamp": START_MS, "value": 1}) + "\n")
    assert installation.command("send", str(first)) == 2  # no landmark meets an event
    assert "nothing was sent" in capsys.readouterr().err
    assert installation.command("send", str(first), "--accept", "landmarks") == 0
    said = capsys.readouterr()
    assert json.loads(said.out) == {"sent": 1, "landmark_steps": 1, "landmark_steps_met": 0}
    with installation.worker() as worker:
        worker.await_committed(2)
        weekend = {
            "weekly": ["sat", "sun"],
            "from": "17:00",
            "to": "20:00",
            "first": "2012-06-02",
            "last": "2012-06-03",
        }
        code, told = asked("home-1", "--zone", "Europe/Paris", "--add", json.dumps(weekend), "2012-06-04")
        assert (code, told["outcome"], told["reject"]) == (0, "registered", None)
        hours = ((32, 35), (56, 59), (63, 87))  # behind Friday, 09:00 in Paris, where the series begins
        assert told["entry"]["add"] == [[START_MS + hour * HOUR_MS for hour in each] for each in hours]
        code, told = asked("home-1", "--add", str(START_MS), str(START_MS - HOUR_MS))
        assert (code, told["outcome"], told["reject"]["reason"]) == (1, "refused", "refused-landmark")
        code, told = asked("car-1", "--add", "5")
        assert (code, told["reject"]["reason"]) == (1, "no-policy")
        assert installation.command("audit") == 0
        assert worker.stop() == 0


def test_metrics_and_health(installation: Installation) -> None:
    """Decided records are counted, health is reported, and no series is named."""
    total = installation.send(readings(300))
    with installation.worker() as worker:
        worker.await_committed(total)
        statuses = {path: worker.get(path)[0] for path in ("/readyz", "/healthz", "/metrics", "/table")}
        assert statuses == {"/readyz": 200, "/healthz": 200, "/metrics": 200, "/table": 404}
        assert worker.metric("landmark_events_total") == total
        text = worker.get("/metrics")[1]
        worker.stop()
    assert all(name in text for name in TABLE)
    assert "home-" not in text


def test_a_port_that_is_in_use(installation: Installation) -> None:
    """A second worker on a machine exits with code 2 and names the setting that must differ; no traceback."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with installation.worker(http_port=str(port)) as worker:
            assert worker.process.wait(PATIENCE_SECONDS) == 2
    said = worker.said()
    last = said.splitlines()[-1]
    assert last.startswith(
        f"landmark-stream worker: http_port: 127.0.0.1:{port} is in use, perhaps by another worker or audit."
    )
    assert "http_port = 0" in last
    assert "Traceback" not in said


def test_what_keeps_a_worker_from_starting_is_one_object_too(installation: Installation) -> None:
    """For a missing key or another number of partitions, the code is 2, and standard error holds only JSON."""
    for changed, told in (({"key_file": "none"}, "no such file"), ({"partitions": "3"}, "partition count is 2")):
        log = stopped(installation, name="json", code=2, log_format="json", **changed)
        line = orjson.loads(log.splitlines()[-1])
        assert (line["level"], told in line["message"]) == ("error", True)


def test_why_all_partitions_stopped_can_be_scraped(installation: Installation) -> None:
    """The worker leaves its group so others can go on, and shows why until one more scrape; a signal ends it.

    Its JSON log has members for what was requested, what was found, and the remedy.
    """
    total = installation.send(readings(100))
    installation.decide(total)
    installation.delete(installation.names.events)  # another topic of that name: every partition stops
    installation.send(readings(100))
    with installation.worker("b", exit_delay_ms="600000", log_format="json", log_level="debug") as worker:
        worker.await_log("serves metrics for")
        for _ in range(3):
            time.sleep(0.2)
            shown = worker.get("/metrics")[1]
            assert re.search(r"^landmark_partitions_stopped\{reason=\"[a-z-]+\"\} 2\.0$", shown, re.MULTILINE)
            assert "landmark_partitions_running 0.0" in shown
            assert "landmark_partitions_configured 2.0" in shown
        assert worker.ready()[0] == 503
        assert "2 partitions stopped" in worker.get("/")[1]
        assert worker.stop() == 1
    lines = [orjson.loads(line) for line in worker.said().splitlines()]
    (first, *_) = [line for line in lines if line["logger"].endswith("owner.partition") and "reason" in line]
    assert {"time", "level", "logger", "message", "partition", "reason", "asked", "found", "remedy"} == set(first)
    assert lines[-1]["message"] == "stopped"
