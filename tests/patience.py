"""How long tests wait for what must come: a slow machine takes long, and what has not come by then never will."""

import time
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")

PATIENCE_SECONDS = 240.0
"""Below the time limit of a test (pyproject.toml), so that a wait that fails can tell what it waited for."""

ANSWER_SECONDS = 60.0
"""For one answer of a server that runs."""


def awaited(ask: Callable[[], _T], told: Callable[[], object] = str) -> _T:
    """Ask until the answer is true, and return it; ``told`` says what there is if it never is."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (found := ask()):
        assert time.monotonic() < deadline, told()
        time.sleep(0.1)
    return found
