"""The live backward loss on a real broker: metrics that survive a restart, and `recover`."""

import json
import shutil

import pytest

from stream_app.cli import main
from stream_app.loss.envelope import Envelope
from stream_app.loss.matrix import TransitionMatrix
from stream_app.loss.temporal import Adversary
from tests.kafka.acts import stopped
from tests.kafka.installation import HOUR_MS, POLICY, START_MS, Installation, readings
from tests.kafka.workerprocess import WorkerProcess

ROWS = [[0.8, 0.2], [0, 1]]
ALARM = 0.5
SERIES = 20
NAMELESS = 3
"""Series without a correlation."""


@pytest.fixture
def installation(installation: Installation) -> Installation:
    """Give the installation a correlation and an alarm level."""
    file = installation.folder / "household.json"
    file.write_text(json.dumps({"backward": ROWS, "forward": ROWS}))
    installation.more |= {"correlations": {"household": file}, "correlation_alarm": ALARM}
    installation.policy |= {"correlation": "household"}
    return installation


def audited(installation: Installation) -> dict[str, float]:
    """Return the backward loss of every correlated series from the ledger topic, hour by hour."""
    spends: dict[str, dict[int, float]] = {}
    for record in installation.read(installation.names.ledger):
        entry = json.loads(record.value)
        if entry["entry"] == "release" and not entry["series"].startswith("bare"):
            hour = (entry["timestamp"] - START_MS) // HOUR_MS
            spends.setdefault(entry["series"], {})[hour] = entry.get("epsilon_nano", 0) / 1e9
    adversary = Adversary(Envelope.of(TransitionMatrix.dense(ROWS)))
    return {
        series: adversary.temporal_loss([of.get(hour, 0.0) for hour in range(max(of) + 1)]).backward[-1]
        for series, of in spends.items()
    }


def nameless() -> list[dict[str, object]]:
    """Return policies that name no correlation, and an event each."""
    bare = {name: part for name, part in POLICY.items() if name != "series"}
    records: list[dict[str, object]] = []
    for nth in range(NAMELESS):
        records.append({"type": "policy", "series": f"bare-{nth}", "version": 1, **bare})
        records.append({"series": f"bare-{nth}", "timestamp": START_MS, "value": 1})
    return records


def agree(worker: WorkerProcess, installation: Installation) -> None:
    """Check the worker's counts against the ledger."""
    losses = audited(installation)
    assert len(losses) == SERIES
    assert worker.metric("landmark_correlated_series") == SERIES
    alarming = sum(loss >= ALARM for loss in losses.values())
    assert worker.metric("landmark_alarmed_series") == alarming


def test_losses_are_counted_and_survive_restarts(
    installation: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    """Counts agree with the ledger: at run time, after a restart, a lost folder, and `recover`."""
    total = installation.send([*nameless(), *readings(SERIES * 4)])
    with installation.worker() as worker:
        worker.await_committed(total)
        agree(worker, installation)
        assert worker.metric("landmark_backward_loss_count") > 0
        total += installation.send(readings(SERIES * 3, start=SERIES * 9))
        worker.await_committed(total)
        agree(worker, installation)
        before = worker.metric("landmark_alarmed_series")
        assert before > 0
        assert worker.stop() == 0
    shutil.rmtree(installation.settings().data_folder)
    config = installation.config(
        f'key_file = "{installation.settings().key_file}"',
        f'correlations = {{ household = "{installation.folder / "household.json"}" }}',
    )
    assert main(["recover", "--config", config, "--json"]) == 0
    assert "partitions" in capsys.readouterr().out
    with installation.worker("b") as worker:
        total += installation.send(readings(1, start=SERIES * 12))
        worker.await_committed(total)
        agree(worker, installation)
        assert worker.metric("landmark_alarmed_series") >= before - 1, "one reading lowers the loss of one series"
        assert worker.stop() == 0


def test_a_worker_without_its_correlation_does_not_start(installation: Installation) -> None:
    """A missing file or a default policy that names no entry ends it with exit code 2 and the remedy."""
    (installation.folder / "household.json").unlink()
    stopped(installation, "correlations.household", code=2)
    installation.more = {}
    stopped(installation, "names correlation 'household', but found none", name="c", code=2)
