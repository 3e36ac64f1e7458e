"""The ports of a local broker, chosen among those that nobody listens on."""

import contextlib
import socket
from collections.abc import Iterable
from typing import Final

from stream_app.kafka.local.errors import LocalBrokerError

HOST: Final = "127.0.0.1"


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
    # Both are held at once, so that they differ.
    with socket.socket() as first, socket.socket() as second:
        first.bind((HOST, 0))
        second.bind((HOST, 0))
        found, controller = int(first.getsockname()[1]), int(second.getsockname()[1])
    # A port that is chosen by name may be what chance gives the controller.
    return (port, controller if controller != port else found) if port else (found, controller)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as Kafka does: its last connections may linger
        with contextlib.suppress(OSError):
            probe.bind((HOST, port))
            return True
    return False
