"""Real brokers as a cluster of their own, each also a controller, that are killed and restarted one by one."""

import asyncio
import base64
import os
import signal
import struct
import uuid
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from stream_app.localbroker.broker import STOP_SECONDS, LocalBroker
from stream_app.localbroker.machine import HOST, free_ports
from tests.patience import ANSWER_SECONDS

COUNT = 3
_UPDATE_FEATURES = 57


class Brokers:
    """The running cluster; leaving the block stops it."""

    def __init__(self, folder: Path, count: int = COUNT, more: Mapping[str, str] | None = None) -> None:
        """Choose ports and a cluster id; nothing runs yet. ``more`` are lines of each ``server.properties``."""
        self._folders = [folder / f"broker-{number}" for number in range(1, count + 1)]
        ports = free_ports(4 * count)
        self._ports, self._controllers, self._hidden, self._fronts = (ports[nth::4] for nth in range(4))
        self._cluster = base64.urlsafe_b64encode(b"\0" + uuid.uuid4().bytes[1:])[:22].decode()
        self._running: dict[int, LocalBroker] = {}
        self._more = {**_settings(count), **(more or {})}

    @property
    def bootstrap_servers(self) -> str:
        """The addresses at which clients reach any of the brokers."""
        return _servers(self._ports)

    @property
    def running(self) -> LocalBroker:
        """One that runs."""
        return next(iter(self._running.values()))

    @property
    def fronted_servers(self) -> str:
        """The addresses for reaching any broker through a proxy, which must listen on the ports of `routes`."""
        return _servers(self._fronts)

    @property
    def routes(self) -> dict[int, int]:
        """The broker's port for each port on which a proxy is to listen."""
        return dict(zip(self._fronts, self._hidden, strict=True))

    async def start(self, number: int) -> None:
        """Start a broker, or its next life; most must run or start for any to answer."""
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
        """Ask a broker to end, as a rolling restart does."""
        await asyncio.to_thread(self._running.pop(number).stop)

    async def kill(self, number: int) -> None:
        """Kill one without warning."""
        process = self._running.pop(number).state.process
        os.kill(process.pid, signal.SIGKILL)
        assert await asyncio.to_thread(process.wait, STOP_SECONDS)

    async def enable(self, feature: str, level: int) -> None:
        """Raise a feature to a level; a cluster formatted by hand begins with each at 0."""
        name, client = feature.encode(), b"tests"
        header = struct.pack(">hhih", _UPDATE_FEATURES, 0, 1, len(client)) + client + b"\0"
        update = bytes([2, len(name) + 1]) + name + struct.pack(">hB", level, 0) + b"\0"
        request = header + struct.pack(">i", int(ANSWER_SECONDS * 1000)) + update + b"\0"
        reader, writer = await asyncio.open_connection(HOST, self._ports[0])
        try:
            writer.write(struct.pack(">i", len(request)) + request)
            async with asyncio.timeout(ANSWER_SECONDS):
                (size,) = struct.unpack(">i", await reader.readexactly(4))
                answer = await reader.readexactly(size)
        finally:
            writer.close()
        assert struct.unpack_from(">h", answer, 9) == (0,), f"{feature} {level} refused: {answer[11:]!r}"

    async def __aenter__(self) -> Self:
        """Start all."""
        await asyncio.gather(*(self.start(number) for number in range(len(self._folders))))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop all running brokers in parallel, because the last controllers wait for each other."""
        await asyncio.gather(*(self.stop(number) for number in list(self._running)), return_exceptions=True)

    def _overrides(self, number: int) -> Mapping[str, str]:
        voters = ",".join(f"{nth + 1}@{HOST}:{port}" for nth, port in enumerate(self._controllers))
        own, controller, hidden = self._ports[number], self._controllers[number], self._hidden[number]
        listeners = {"PLAINTEXT": own, "CONTROLLER": controller, "FRONTED": hidden}
        advertised = {"PLAINTEXT": own, "FRONTED": self._fronts[number]}
        return {
            "node.id": f"{number + 1}",
            "controller.quorum.voters": voters,
            "listeners": _listeners(listeners),
            "advertised.listeners": _listeners(advertised),
            "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in listeners),
            "inter.broker.listener.name": "PLAINTEXT",
            **self._more,
        }


def _settings(count: int) -> dict[str, str]:
    most = str(max(1, count - 1))
    return {
        "offsets.topic.replication.factor": str(count),
        "transaction.state.log.replication.factor": str(count),
        "transaction.state.log.min.isr": most,
        "default.replication.factor": str(count),
        "min.insync.replicas": most,
        "unclean.leader.election.enable": "false",
    }


def _servers(ports: tuple[int, ...]) -> str:
    return ",".join(f"{HOST}:{port}" for port in ports)


def _listeners(ports: Mapping[str, int]) -> str:
    return ",".join(f"{name}://{HOST}:{port}" for name, port in ports.items())
