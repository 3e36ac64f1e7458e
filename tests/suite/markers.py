"""Markers that nobody has to write: a test that has a real broker is found by what it and its fixtures name."""

import functools
from collections.abc import Iterator
from inspect import unwrap
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

from stream_app.localbroker.broker import LocalBroker

_OURS = ("tests", "benchmarks")
_SHARED = "broker"
"""The fixture that is the run's broker, and the marker."""


def needs_broker(item: pytest.Function) -> bool:
    """Tell whether a test uses the shared broker, or names `LocalBroker` in its code or in what that calls.

    Annotations do not count. What only a program that it starts would do is not seen: such a test is marked by hand.
    """
    definitions = item._fixtureinfo.name2fixturedefs  # noqa: SLF001 - pytest tells the fixtures' names alone
    used = [found[-1].func for name, found in definitions.items() if name in item.fixturenames]
    return _SHARED in item.fixturenames or any(_reaches_broker(unwrap(each)) for each in [item.function, *used])


@functools.cache
def _reaches_broker(function: FunctionType) -> bool:
    todo, seen = [function], {function}
    while todo:
        for found in _named(todo.pop()):
            if found is LocalBroker:
                return True
            new = {each for each in _functions(found) if each not in seen}
            seen |= new
            todo += new
    return False


def _named(function: FunctionType) -> Iterator[Any]:
    """Yield what the global names of a function's code mean, and names within our modules that it names."""
    names = _names(function.__code__)
    for name in names & function.__globals__.keys():
        value = function.__globals__[name]
        yield value
        if isinstance(value, ModuleType) and _is_ours(value.__name__):
            yield from (getattr(value, each) for each in names if hasattr(value, each))


def _names(code: CodeType) -> set[str]:
    inner = (each for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _functions(value: Any) -> Iterator[FunctionType]:
    """Yield a function of the tests or benchmarks, or those of a class there."""
    value = unwrap(value) if callable(value) else value
    if not _is_ours(getattr(value, "__module__", None) or ""):
        return
    if isinstance(value, FunctionType):
        yield value
    elif isinstance(value, type):
        for part in vars(value).values():
            inner = unwrap(getattr(part, "fget", None) or getattr(part, "__func__", part))
            if isinstance(inner, FunctionType):
                yield inner


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in _OURS
