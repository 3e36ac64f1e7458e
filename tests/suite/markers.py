"""Markers that nobody has to write: the names in a test's code and fixtures show what it uses."""

import functools
import subprocess
from collections.abc import Iterator
from inspect import unwrap
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

import pytest

from stream_app.localbroker.broker import LocalBroker
from tests.programs import program

_OURS = ("tests", "benchmarks")
_MEANING: Final = {LocalBroker: "broker", program: "program", subprocess: "process"}
"""The marker of code that names one of these."""
_SHARED = "broker"
"""The fixture that is the run's broker."""


def uses(item: pytest.Function) -> frozenset[str]:
    """Return the markers of what a test uses: a broker, a program that may be missing, a process.

    The code of the test, of its fixtures, and of all functions of tests and benchmarks that these name counts;
    annotations do not count. The actions of a program that the test starts are not seen: such a test is marked by hand.
    """
    definitions = item._fixtureinfo.name2fixturedefs  # noqa: SLF001 - pytest tells the fixtures' names alone
    functions = {item.function, *(found[-1].func for found in definitions.values())}
    return _reached(frozenset(functions)) | ({"broker"} if _SHARED in item.fixturenames else set[str]())


@functools.cache
def _reached(functions: frozenset[FunctionType]) -> frozenset[str]:
    return frozenset[str]().union(*(reached(unwrap(each)) for each in functions))


@functools.cache
def reached(function: FunctionType) -> frozenset[str]:
    """Return the markers of what a function names, or a function of ours that it names, and so on."""
    todo, seen, reached = [function], {function}, set[str]()
    while todo:
        for found in _named(todo.pop()):
            if found in _MEANING:
                reached.add(_MEANING[found])
            new = {each for each in _functions(found) if each not in seen}
            seen |= new
            todo += new
    return frozenset(reached)


def _named(function: FunctionType) -> Iterator[Any]:
    """Yield the functions, classes and modules that a function's code names, and those within our modules."""
    names = _names(function.__code__)
    for name in names & function.__globals__.keys():
        value = function.__globals__[name]
        if isinstance(value, FunctionType | type | ModuleType):
            yield value
        if isinstance(value, ModuleType) and _is_ours(value.__name__):
            inner = (getattr(value, each, None) for each in names)
            yield from (each for each in inner if isinstance(each, FunctionType | type))


def _names(code: CodeType) -> set[str]:
    inner = (each for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _functions(value: FunctionType | type | ModuleType) -> Iterator[FunctionType]:
    """Yield a function of the tests or benchmarks, or those of a class there."""
    if isinstance(value, ModuleType) or not _is_ours(value.__module__):
        return
    if isinstance(value, FunctionType):
        yield unwrap(value)
        return
    for part in vars(value).values():
        inner = unwrap(getattr(part, "fget", None) or getattr(part, "__func__", part))
        if isinstance(inner, FunctionType):
            yield inner


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in _OURS
