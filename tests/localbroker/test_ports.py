"""The ports of a local broker: the requested one, or any port if allowed."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from stream_app.localbroker import LocalBrokerError
from stream_app.localbroker.machine import HOST, free_ports, ports_of


@pytest.fixture
def taken() -> Iterator[int]:
    """Listen on a port."""
    with socket.socket() as other:
        other.bind((HOST, 0))
        other.listen()
        yield other.getsockname()[1]


@pytest.fixture
def free() -> int:
    """Find a port that nobody uses."""
    return free_ports(1)[0]


def test_the_preferred_one_where_it_is_free(free: int) -> None:
    """No other port is chosen; 0 requests any port."""
    assert ports_of(free, other=True)[0] == ports_of(free, other=False)[0] == free
    assert ports_of(0, other=False)[0] not in {0, free}


def test_one_that_is_taken(taken: int) -> None:
    """Another free port is used if allowed: raw data sent to a port of another Kafka would be lost to it."""
    port, controller = ports_of(taken, other=True)
    assert len({port, controller, taken, 0}) == 4
    with pytest.raises(LocalBrokerError, match=f"port {taken}: another program") as refused:
        ports_of(taken, other=False)
    assert "--port 0" in refused.value.remedy


def test_no_connection_gets_a_port_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system gives connections ports in another range, and ports in use are skipped."""
    with Path("/proc/sys/net/ipv4/ip_local_port_range").open() as told:
        first, last = map(int, told.read().split())
    ports = free_ports(100)
    assert len(set(ports)) == len(ports)
    assert not [port for port in ports if first <= port <= last]
    with socket.socket() as other:
        other.bind((HOST, ports[0]))
        monkeypatch.setattr("stream_app.localbroker.machine._SERVERS", ports[:2])
        assert free_ports(1) == ports[1:2]
