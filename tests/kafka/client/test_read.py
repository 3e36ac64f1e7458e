"""``read``: only committed records, from a chosen position, printed immediately and one per line."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stream_app.cli import main
from stream_app.localbroker.broker import LocalBroker
from tests.kafka.acts import abort_entries, send_raw
from tests.kafka.installation import HOUR_MS, START_MS, Installation
from tests.patience import PATIENCE_SECONDS


@pytest.fixture(scope="module")
def installation(broker: LocalBroker, tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Installation:
    """An installation with releases of three series at three steps each; those of a fourth were aborted."""
    found = Installation(broker, tmp_path_factory.mktemp("read"), f"read-{worker_id}")
    for step in range(3):
        for series in ("home-1", "home-2", "car[1]"):
            release(found, series, step)
    asyncio.run(abort_entries(found, 0, 0, [{"series": "home-3"}], line("home-3", 1)))
    return found


def line(series: str, step: int) -> bytes:
    """Return a release's bytes."""
    return json.dumps({"series": series, "timestamp": START_MS + step * HOUR_MS, "decision": "withheld"}).encode()


def release(installation: Installation, series: str, step: int) -> None:
    """Write a release as a worker does, with its step as timestamp."""
    value, at = line(series, step), START_MS + step * HOUR_MS
    asyncio.run(send_raw(installation, installation.names.releases, value, series.encode(), at, None))


def read(installation: Installation, capfd: pytest.CaptureFixture[str], *words: str) -> list[tuple[str, int]]:
    """Return the series and step of each printed release."""
    capfd.readouterr()
    assert main(["read", "releases", "--config", installation.config(), *words]) == 0
    found = [json.loads(each) for each in capfd.readouterr().out.splitlines()]
    return sorted((each["series"], (each["timestamp"] - START_MS) // HOUR_MS) for each in found)


def test_which_records(installation: Installation, capfd: pytest.CaptureFixture[str]) -> None:
    """It reads all committed records, or by series or glob (even with brackets), from a time, or from the end."""
    everything = [(series, step) for series in ("car[1]", "home-1", "home-2") for step in range(3)]
    assert read(installation, capfd) == everything
    homes = [each for each in everything if each[0].startswith("home")]
    assert read(installation, capfd, "--series", "home-*") == homes
    assert read(installation, capfd, "--series", "car[1]", "--series", "home-2") == everything[:3] + everything[6:]
    later = [each for each in everything if each[1] >= 1]
    assert read(installation, capfd, "--since", str(START_MS + 1)) == later
    assert read(installation, capfd, "--since", "2012-06-01T09:00:00+02:00", "--limit", "99") == everything
    assert read(installation, capfd, "--since", str(START_MS + 9 * HOUR_MS)) == []
    assert read(installation, capfd, "--from", "end") == []


def test_a_reject_of_no_series_is_none_that_was_asked_for(
    installation: Installation, capfd: pytest.CaptureFixture[str]
) -> None:
    """The series of an unreadable record is unknown, so neither a glob nor the word None finds its reject."""
    rejects = [{"series": series, "reason": "malformed"} for series in (None, "home-1", "None")]
    for reject in rejects:
        value = json.dumps(reject).encode()
        asyncio.run(send_raw(installation, installation.names.rejects, value, b"key", START_MS, None))

    def found(*words: str) -> list[object]:
        """Return what is printed."""
        capfd.readouterr()
        assert main(["read", "rejects", "--config", installation.config(), *words]) == 0
        return [json.loads(each) for each in capfd.readouterr().out.splitlines()]

    assert found() == [*rejects, {"end": dict.fromkeys(map(str, range(installation.partitions)), 0)}]
    assert found("--series", "*") == rejects[1:]
    assert found("--series", "None") == rejects[2:]


@pytest.mark.parametrize("moment", ["yesterday", "-5", "2012-06-01T07:00:00"])
def test_no_moment(moment: str, installation: Installation, capfd: pytest.CaptureFixture[str]) -> None:
    """The error explains how a time is written."""
    assert main(["read", "releases", f"--since={moment}", "--config", installation.config()]) == 2
    assert "offset" in capfd.readouterr().err


def following(installation: Installation, *words: str) -> "subprocess.Popen[bytes]":
    """Run ``read --follow`` with its output in a pipe."""
    command = [sys.executable, "-m", "stream_app", "read", "releases", "--follow", "--config", installation.config()]
    return subprocess.Popen(
        [*command, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler) and None,  # noqa: PLW1509
    )


def test_each_line_comes_at_once_and_ctrl_c_ends_it(broker: LocalBroker, tmp_path: Path) -> None:
    """This holds in a pipe too; lines committed later follow, and an interrupt leaves no traceback."""
    installation = Installation(broker, tmp_path, "read-follow")
    release(installation, "home-1", 0)
    process = following(installation)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == line("home-1", 0) + b"\n"
        release(installation, "home-1", 1)
        assert process.stdout.readline() == line("home-1", 1) + b"\n"
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=PATIENCE_SECONDS)
        assert (process.returncode, rest, errors) == (130, b"", b"")
    finally:
        process.kill()


def test_who_follows_in_vain_learns_where_to_look(broker: LocalBroker, tmp_path: Path) -> None:
    """The hint comes once, after some seconds without any requested record."""
    installation = Installation(broker, tmp_path, "read-vain")
    release(installation, "home-1", 0)
    process = following(installation, "--series", "home-2")
    assert process.stderr is not None
    try:
        told = process.stderr.readline().decode()
        assert "has no such record yet; waiting; is a worker running (`landmark-stream top`)" in told
    finally:
        process.kill()


def test_a_reader_that_has_enough_is_no_error(broker: LocalBroker, tmp_path: Path) -> None:
    """If the reader of a pipe stops, as `head` does, the next line ends the command without blaming brokers."""
    installation = Installation(broker, tmp_path, "read-enough")
    release(installation, "home-1", 0)
    process = following(installation)
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        process.stdout.readline()
        process.stdout.close()
        release(installation, "home-1", 1)
        assert (process.wait(PATIENCE_SECONDS), process.stderr.read()) == (0, b"")
    finally:
        process.kill()
