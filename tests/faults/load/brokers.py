"""Three real brokers as one cluster, each a controller too: killed and started again one by one."""

import asyncio
import base64
import os
import signal
import uuid
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from stream_app.localbroker.broker import STOP_SECONDS, LocalBroker
from stream_app.localbroker.ports import HOST, free_ports

COUNT = 3
_SETTINGS = {
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "unclean.leader.election.enable": "false",
}


class Brokers:
    """The cluster; leaving the block stops it."""

    def __init__(self, folder: Path) -> None:
        """Choose ports and a cluster id; nothing runs yet."""
        self._folders = [folder / f"broker-{number}" for number in range(1, COUNT + 1)]
        ports = free_ports(2 * COUNT)
        self._ports, self._controllers = ports[:COUNT], ports[COUNT:]
        self._cluster = base64.urlsafe_b64encode(b"\0" + uuid.uuid4().bytes[1:])[:22].decode()
        self._running: dict[int, LocalBroker] = {}
        self._stack = ExitStack()

    @property
    def bootstrap_servers(self) -> str:
        """Where clients reach any of them."""
        return ",".join(f"{HOST}:{port}" for port in self._ports)

    async def start(self, number: int) -> None:
        """Start a broker, or its next life; two must run or start for any to answer."""
        folder, port = self._folders[number], self._ports[number]
        data = folder / "data"
        if not data.exists():
            data.mkdir(parents=True)
            # Formatted by hand: the folders of a cluster share its id.
            lines = {"version": 1, "cluster.id": self._cluster, "node.id": number + 1}
            (data / "meta.properties").write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
        overrides = self._overrides(number)
        self._running[number] = await asyncio.to_thread(LocalBroker.start, folder, port, overrides=overrides)

    async def stop(self, number: int) -> None:
        """Ask one to end, as a rolling restart does."""
        await asyncio.to_thread(self._running.pop(number).stop)

    async def kill(self, number: int) -> None:
        """Kill one without warning."""
        process = self._running.pop(number).state.process
        os.kill(process.pid, signal.SIGKILL)
        assert await asyncio.to_thread(process.wait, STOP_SECONDS)

    async def __aenter__(self) -> Self:
        """Start all."""
        await asyncio.gather(*(self.start(number) for number in range(COUNT)))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop those that run, all at once: the last controllers wait for each other."""
        await asyncio.gather(*(self.stop(number) for number in list(self._running)), return_exceptions=True)

    def _overrides(self, number: int) -> Mapping[str, str]:
        voters = ",".join(f"{nth + 1}@{HOST}:{port}" for nth, port in enumerate(self._controllers))
        listeners = f"PLAINTEXT://{HOST}:{self._ports[number]},CONTROLLER://{HOST}:{self._controllers[number]}"
        return {**_SETTINGS, "node.id": f"{number + 1}", "controller.quorum.voters": voters, "listeners": listeners}
