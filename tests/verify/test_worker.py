"""``verify --worker``: a worker decides the histories, its columns' faults are found, and nothing remains."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from stream_app.cli import main
from stream_app.localbroker.broker import LocalBroker
from stream_app.privacy.noise.draws import Draws
from stream_app.setup.settings import Settings
from stream_app.verify.experiment import experiment
from stream_app.verify.verdict import Judgement
from stream_app.verify.worker import without_looks
from tests.admin import administration
from tests.cli.planning.test_plan import written
from tests.command import Cli
from tests.patience import PATIENCE_SECONDS
from tests.run import COUNTS, NUMBER

PARAMETERS: dict[str, Any] = {
    "epsilon": 2.0,
    "protection": {"level": "user", "length": 2, "step": 10},
    "scheme": {"name": "uniform"},
    "value": NUMBER,
}
POLICY = {"series": "home-*", **PARAMETERS}
RUNS = 600
MANY = ("--runs", str(RUNS))
FAULT = """
from stream_app.privacy.noise.draws import Draws

noise = Draws.noise


def lessened(self, rule, starts_ms, spends_nano, cells):
    return (cells[0] + (noise(self, rule, starts_ms, spends_nano, cells)[0] - cells[0]) // 100,)


Draws.noise = lessened
"""
"""Code that a worker runs first: a hundredth of the noise, if many steps are decided together."""
UNUSABLE = 2
DEAD = "import os\nos._exit(7)\n"
STEPS, CLOSE = "all steps", "one cell apart"


@pytest.fixture
def config(broker: LocalBroker, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the settings of a separate installation; temporary folders are created here."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    name = re.sub(r"[^a-z]+", "-", request.node.originalname)
    file = tmp_path / "landmark.toml"
    limits = "max_epsilon = 0.1\nlifetime_epsilon = 0.1\naccept_policies = false\n"  # of its own series alone
    file.write_text(f'bootstrap_servers = "{broker.bootstrap_servers}"\nprefix = "{name}"\n{limits}')
    return str(file)


def own_topics(config: str) -> list[str]:
    """Return the topics that a verifying worker has on the broker."""
    settings = Settings.load(Path(config))

    async def found() -> list[str]:
        """Return the names of all topics."""
        async with administration(bootstrap_servers=settings.bootstrap_servers) as admin:
            return sorted(await admin.list_topics())

    return [name for name in asyncio.run(found()) if name.startswith(f"{settings.prefix}-verify-")]


def nothing_left(config: str) -> bool:
    """Return whether neither topics nor folders are left."""
    return not own_topics(config) and not list(Path(config).parent.glob("landmark-verify-*"))


def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """Make every Python process that starts from now on run a fault first."""
    folder = tmp_path / "planted"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(fault)
    monkeypatch.setenv("PYTHONPATH", str(folder))


def verified(cli: Cli, code: int | None, *words: str) -> dict[str, Any]:
    """Return what ``--json`` prints, and check the exit code; None: the code of the findings."""
    cli.said()
    found = main(["verify", *words, "--json"])
    out, err = cli.said()
    assert found != UNUSABLE, err
    document: dict[str, Any] = json.loads(out)
    judged = Judgement[document["verdict"].upper().replace("-", "_")].value
    assert found == judged == (judged if code is None else code), out + err
    return document


@pytest.mark.slow
def test_a_worker_holds(config: str, tmp_path: Path, cli: Cli) -> None:
    """Every record is decided, those after a series' first step together; the control reveals more."""
    found = verified(cli, None, written(tmp_path, POLICY), *MANY, "--worker", "--config", config)
    assert found["verdict"] in {"holds", "no-power"}  # so few runs find the control by chance
    assert {pair["pair"]: pair["runs"] for pair in found["pairs"]} == {STEPS: RUNS, CLOSE: RUNS}
    steps, close = found["pairs"]
    assert steps["bound"] < steps["control"]["bound"]
    assert close["bound"] == close["control"]["runs"] == 0
    # Six histories, since the second pair has no control, each of a policy and two steps.
    assert found["worker"] == {"records": 6 * 3 * RUNS, "together": 6 * RUNS}
    assert nothing_left(config)


@pytest.mark.slow
def test_a_fault_of_columns_is_found(config: str, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundredth of the noise in steps decided together shows in runs beside a worker and by it."""
    file = written(tmp_path, POLICY)
    with monkeypatch.context() as here:
        here.setattr(Draws, "noise", Draws.noise)  # what the fault replaces is put back
        exec(FAULT, {})  # noqa: S102 (the text above)
        beside = verified(cli, 1, file, *MANY, "--seed", "7", "--jobs", "1")
        assert {pair["pair"]: pair["broken"] for pair in beside["pairs"]} == {STEPS: True, CLOSE: False}
    planted(tmp_path, monkeypatch, FAULT)
    found = verified(cli, 1, file, *MANY, "--worker", "--config", config)
    assert {pair["pair"]: pair["broken"] for pair in found["pairs"]} == {STEPS: True, CLOSE: False}
    assert nothing_left(config)


@pytest.mark.slow
def test_what_is_not_decided_as_columns(config: str, tmp_path: Path, cli: Cli) -> None:
    """Collected data, units, several readings a step and registered landmarks go singly; the output says so."""
    late = {**POLICY, "protection": {"level": "landmark", "landmarks": [50], "step": 10, "spare": 2}}
    counted = {**POLICY, "value": {"kind": "counts", "keys": ["walk", "ride"]}}
    counted["collect"] = {"neighbours": "replace", "open_steps": 1, "intrusion_nano": 10**9}
    units = {"level": "landmark", "landmarks": [50], "step": 10, "unit": 5, "window": 2, "spare": 1, "open_steps": 1}
    means = {**POLICY, "protection": units, "value": {**NUMBER, "statistic": "mean"}}
    file = written(tmp_path, late, counted, {**POLICY, "value": COUNTS}, means)
    assert main(["verify", file, "--runs", "40", "--worker", "--config", config, "--json"]) == 3
    documents = [json.loads(line) for line in cli.said().out.splitlines()]
    assert [found["worker"]["together"] > 0 for found in documents] == [True, False, False, False]
    for pair in (pair for found in documents for pair in found["pairs"]):
        assert pair["runs"] == 40
        assert "look" not in pair["pair"]
    assert nothing_left(config)


def test_a_worker_that_ends(config: str, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exit code is 2, with what ended the worker, and nothing is left."""
    planted(tmp_path, monkeypatch, DEAD)
    assert main(["verify", written(tmp_path, POLICY), "--worker", "--config", config]) == 2
    assert "the worker ended with exit code 7" in cli.said().err
    assert nothing_left(config)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_one_leaves_nothing(config: str, tmp_path: Path, number: int) -> None:
    """On Ctrl-C and SIGTERM amid the runs, topics, worker and folder are removed."""
    words = ("verify", written(tmp_path, POLICY), "--worker", "--config", config)
    environment = {**os.environ, "TMPDIR": str(tmp_path)}  # noqa: TID251 (the child's)
    with subprocess.Popen(
        [sys.executable, "-m", "stream_app", *words], env=environment, stderr=subprocess.PIPE
    ) as process:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not any("processing records" in log.read_text() for log in tmp_path.glob("landmark-verify-*/worker.log")):
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.1)
        assert own_topics(config)
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == (130 if number == signal.SIGINT else 128 + number), err
    assert nothing_left(config)


def test_pairs_with_a_look_are_left_out() -> None:
    """Nobody can look at the counters of a worker; every other pair stays."""
    collect = {"neighbours": "replace", "open_steps": 1, "intrusion_nano": 10**9}
    counts = {"kind": "counts", "keys": ["walk", "ride"]}
    tried = experiment({**PARAMETERS, "value": counts, "collect": collect}, bytes(32))
    names = [pair.name for pair in without_looks(tried).pairs]
    assert names == [pair.name for pair in tried.pairs if "look" not in pair.name]
    assert 0 < len(names) < len(tried.pairs)
