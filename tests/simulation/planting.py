"""Protocol faults: the production code with one rule left out, each by patching a few words of one method.

A check that cannot fail proves nothing: the simulation has to find each of these faults.
"""

import importlib
import inspect
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple


class Planted(NamedTuple):
    """One rule that is left out."""

    name: str
    rule: str
    """What the rule says."""
    place: str
    """The module and the function or method in it, separated by a colon."""
    seed: int
    """The first that finds it."""
    changes: tuple[tuple[str, str], ...]
    """Texts that occur there once, and their replacements."""


def _function(place: str) -> tuple[Any, str, Any]:
    """Return the owner of a function, its name and the function itself."""
    module, _, path = place.partition(":")
    owner: Any = importlib.import_module(module)
    *outer, name = path.split(".")
    for part in outer:
        owner = getattr(owner, part)
    return owner, name, inspect.getattr_static(owner, name)


@contextmanager
def planted(fault: Planted) -> Iterator[None]:
    """Run with a fault in the code."""
    owner, name, before = _function(fault.place)
    plain = before.__func__ if isinstance(before, classmethod | staticmethod) else before
    source = textwrap.dedent(inspect.getsource(plain))
    for old, new in fault.changes:
        if source.count(old) != 1:
            raise LookupError(f"{fault.name}: {fault.place} does not contain {old!r} once")
        source = source.replace(old, new)
    found: dict[str, Any] = {}
    code = compile(source, f"<{fault.name}>", "exec")
    exec(code, plain.__globals__, found)  # noqa: S102 (it is our own code, but for a few words)
    setattr(owner, name, found[name])
    try:
        yield
    finally:
        setattr(owner, name, before)
