"""The ports of a local broker: the one asked for, else the first wished one that is free, else any."""

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
    """Find a port that nobody has."""
    return free_ports(1)[0]


def test_the_first_wished_one_that_is_free(taken: int, free: int) -> None:
    """What is remembered goes before what is preferred, and what is taken is passed over."""
    assert ports_of(None, (free, taken))[0] == free
    assert ports_of(None, (taken, free))[0] == free
    assert ports_of(None, (None, free))[0] == free


def test_any_where_no_wished_one_is_free(taken: int) -> None:
    """Two free ports that differ."""
    port, controller = ports_of(None, (taken, None, taken))
    assert len({port, controller, taken, 0}) == 4


def test_the_one_asked_for_or_none(taken: int, free: int) -> None:
    """A port that was asked for is never changed for another; 0 asks for any, whatever is wished."""
    assert ports_of(free, (taken,))[0] == free
    assert ports_of(0, (free,))[0] not in {0, free}
    with pytest.raises(LocalBrokerError, match=f"port {taken}: another program"):
        ports_of(taken, (free,))


def test_no_connection_gets_a_port_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the system gives to connections lies elsewhere, and what is held is passed over."""
    with Path("/proc/sys/net/ipv4/ip_local_port_range").open() as told:
        first, last = map(int, told.read().split())
    ports = free_ports(100)
    assert len(set(ports)) == len(ports)
    assert not [port for port in ports if first <= port <= last]
    with socket.socket() as other:
        other.bind((HOST, ports[0]))
        monkeypatch.setattr("stream_app.localbroker.machine._SERVERS", ports[:2])
        assert free_ports(1) == ports[1:2]
