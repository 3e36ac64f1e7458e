"""The ports of a local broker, chosen among those that nobody listens on."""

import contextlib
import socket
import uuid
from collections.abc import Iterable
from typing import Final

from stream_app.localbroker import LocalBrokerError

HOST: Final = "127.0.0.1"
_SERVERS: Final = range(20_000, 32_768)
"""Connections have those from 32768 on Linux, from 49152 elsewhere (RFC 6335, section 6)."""


def ports_of(asked: int | None, wished: Iterable[int | None]) -> tuple[int, int]:
    """Choose the broker's and the controller's port.

    Args:
        asked: the broker's port, which must be free; 0 for any free one, None for the first free one of ``wished``.
        wished: what it should be, best first; any free one where none of these is, and None counts as none.

    Raises:
        LocalBrokerError: if somebody listens on the port that was asked for.
    """
    if asked:
        if not _is_free(asked):
            raise LocalBrokerError(f"port {asked}", "another program listens there", "Give another --port, or none")
        port = asked
    else:
        port = 0 if asked == 0 else next((one for one in wished if one is not None and _is_free(one)), 0)
    found, controller = free_ports(2)
    # A port that is chosen by name may be what chance gives the controller.
    return (port, controller if controller != port else found) if port else (found, controller)


def free_ports(count: int) -> tuple[int, ...]:
    """Return ``count`` different free ports, none of which the system gives to outgoing connections.

    A server that is away for a moment finds its port free again: a client that calls it meanwhile from a port of the
    system's choice would get that very port one day, reach itself, and keep it.
    """
    with contextlib.ExitStack() as held:  # all at once, so that they differ
        found: list[int] = []
        while len(found) < count:
            probe, port = held.enter_context(socket.socket()), _SERVERS[uuid.uuid4().int % len(_SERVERS)]
            with contextlib.suppress(OSError):
                probe.bind((HOST, port))
                found.append(port)
    return tuple(found)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as Kafka does: its last connections may linger
        with contextlib.suppress(OSError):
            probe.bind((HOST, port))
            return True
    return False
