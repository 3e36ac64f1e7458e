"""How long tests wait: a slow machine takes long, but what has not come by then never will."""

import time
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")

PATIENCE_SECONDS = 240.0
"""Shorter than a test's time limit (pyproject.toml), so that a failing wait can report what it waited for."""

ANSWER_SECONDS = 60.0
"""The time for one answer of a running server."""


def awaited(ask: Callable[[], _T], told: Callable[[], object] = str) -> _T:
    """Ask until the answer is true, and return it; ``told`` describes the state if it never is."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (found := ask()):
        assert time.monotonic() < deadline, told()
        time.sleep(0.1)
    return found
