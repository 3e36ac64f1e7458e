"""Reads what a worker under measurement reports over HTTP."""

import http.client
import re
import time
from collections.abc import Callable
from contextlib import suppress

import orjson

from benchmarks.rig.process import ClientError
from benchmarks.rig.watch import WatchedClient
from stream_app.localbroker.machine import HOST

PATIENCE_SECONDS = 600.0
_LOOK_SECONDS = 0.05
_SAMPLE = re.compile(r'(?P<name>\w+)(?:\{partition="(?P<partition>\d+)"\})? (?P<value>\S+)')


def until(condition: Callable[[], bool], what: str, client: WatchedClient) -> float:
    """Wait until ``condition`` holds; return the seconds that it took.

    Raises:
        ClientError: if the client ends, or the condition stays false for minutes; ``what`` names the condition.
    """
    began = time.perf_counter()
    while not condition():
        client.check()
        if time.perf_counter() - began > PATIENCE_SECONDS:
            raise ClientError(f"not {what} after {PATIENCE_SECONDS:.0f} seconds:\n{client.last_words()}")
        time.sleep(_LOOK_SECONDS)
    return time.perf_counter() - began


def served(port: int) -> list[int]:
    """Return the worker's active partitions; empty before it is ready and while the group rebalances."""
    with suppress(OSError, http.client.HTTPException):
        status, text = _get(port, "/readyz")
        if status == http.client.OK:
            return list(orjson.loads(text.removeprefix("partitions ")))
    return []


def ready(port: int) -> bool:
    """Return whether the worker is ready, even if it has no partition."""
    with suppress(OSError, http.client.HTTPException):
        return _get(port, "/readyz")[0] == http.client.OK
    return False


def measure(port: int, name: str) -> dict[int | None, float]:
    """Return a metric by partition, with None for the whole worker; empty if the worker does not export it."""
    found = (_SAMPLE.fullmatch(line) for line in _get(port, "/metrics")[1].splitlines())
    return {
        None if one["partition"] is None else int(one["partition"]): float(one["value"])
        for one in found
        if one is not None and one["name"] == name
    }


def _get(port: int, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(HOST, port, timeout=10)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()
