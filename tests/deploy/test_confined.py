"""A worker confined as in image, pod and unit: no root, no rights, a read-only tree, two writable places."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from pwd import getpwuid

import pytest

from stream_app.kafka.client.log import LogReader
from stream_app.kafka.client.sending import send_events
from stream_app.kafka.client.topics import TopicNames
from stream_app.kafka.provision import make_and_check
from stream_app.localbroker.broker import LocalBroker
from stream_app.localbroker.machine import free_ports
from stream_app.setup import keyfile
from stream_app.setup.settings import Settings
from tests.deploy import ROOT
from tests.deploy.site import running, wait_for
from tests.deploy.test_prometheus import round_of_events
from tests.programs import program

LOOK = """
import os, pathlib, sys
status = dict(line.split(":", 1) for line in pathlib.Path("/proc/self/status").read_text().splitlines())
assert (os.getuid(), os.getgid()) == (10001, 10001)
assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0
assert status["NoNewPrivs"].strip() == "1"
for place in sys.argv[1:]:
    try:
        pathlib.Path(place, "probe").write_text("")
        print("writable")
    except OSError as error:
        print(error.strerror)
"""


def confined(folder: Path, *command: str) -> list[str]:
    """Return a command as uid 10001 that may write only `folder`/data and /tmp; keys are read-only too.

    Its test is skipped if the kernel allows no user namespaces: in a chroot, and in many containers.
    """
    bubblewrap = program("bwrap")
    tried = subprocess.run(
        [bubblewrap, "--ro-bind", "/", "/", "--unshare-user", "true"], capture_output=True, text=True, check=False
    )
    if tried.returncode:
        pytest.skip(f"no user namespace can be made here: {tried.stderr.strip()}")
    places = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]  # noqa: S108
    # What lies below /tmp is hidden by the new one, but for this.
    places += ["--ro-bind", str(folder), str(folder), "--bind", str(folder / "data"), str(folder / "data")]
    for needed in (ROOT, Path(sys.prefix)):
        if needed.is_relative_to("/tmp"):  # noqa: S108
            places += ["--ro-bind", str(needed), str(needed)]
    rights = ["--unshare-user", "--unshare-pid", "--uid", "10001", "--gid", "10001", "--cap-drop", "ALL"]
    return [bubblewrap, *places, *rights, "--die-with-parent", "--chdir", "/", *command]


def test_the_confinement_confines(tmp_path: Path) -> None:
    """No right is left; data and /tmp are writable; the tree, the home and the keys' folder are not."""
    (tmp_path / "data").mkdir()
    places = [str(tmp_path / "data"), "/tmp", "/etc", getpwuid(os.getuid()).pw_dir, str(tmp_path), sys.prefix]  # noqa: S108
    done = subprocess.run(
        confined(tmp_path, sys.executable, "-c", LOOK, *places), capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["writable"] * 2 + ["Read-only file system"] * 4


def test_a_confined_worker_decides(broker: LocalBroker, tmp_path: Path) -> None:
    """Its key is on a read-only mount, its state in the data folder, and it releases the records it receives."""
    (tmp_path / "data").mkdir()
    keyfile.create(tmp_path / "noise.key")
    (port,) = free_ports(1)
    config = tmp_path / "landmark-stream.toml"
    config.write_text(
        f"""
        bootstrap_servers = "{broker.bootstrap_servers}"
        prefix = "confined"
        application = "confined-app"
        partitions = 1
        key_file = "{tmp_path / "noise.key"}"
        data_folder = "{tmp_path / "data" / "state"}"
        http_port = {port}
        """
    )
    settings = Settings.load(config)
    assert asyncio.run(make_and_check(settings)).differences == ()
    worker = [sys.executable, "-m", "stream_app", "worker", "--config", str(config)]
    environment = ["env", f"PYTHONPATH={ROOT}", "PYTHONDONTWRITEBYTECODE=1", f"HOME={tmp_path / 'data'}"]
    with running(confined(tmp_path, *environment, *worker), tmp_path / "worker.log"):
        wait_for(port, "/readyz", tmp_path / "worker.log")
        asyncio.run(send_events(settings, round_of_events(0)))
        assert asyncio.run(released(settings, 20)) >= 20
    assert list((tmp_path / "data" / "state").rglob("CURRENT")), "RocksDB wrote its files"


async def released(settings: Settings, wanted: int) -> int:
    """Wait until at least ``wanted`` releases are committed; return their number."""
    topic = TopicNames.of(settings.prefix, settings.application).releases
    for _ in range(300):
        async with LogReader.opened(settings, "read_committed") as reader:
            found = sum([len(several) async for several in reader.records(topic, 0, 0)])
        if found >= wanted:
            return found
        await asyncio.sleep(0.2)
    return 0
