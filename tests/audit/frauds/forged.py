"""The input of an auditor for a fraud, and the codes of which one must be found."""

import sys
from collections.abc import Callable, Iterator
from inspect import isfunction
from typing import Any, NamedTuple

from tests.audit.written import Written, renumber

FIGURES = {
    "budget_nano": "budget",
    "landmark_spent_nano": "landmark-spent",
    "landmarks_left": "landmarks-left",
    "regular_peak_nano": "regular-peak",
}
ARITHMETIC = {*FIGURES.values(), "share", "decision", "landmark-flag", "charge", "refused-landmark"}
CHAIN = {"gap", "truncated", "broken-chain", "out-of-order", "bad-hash"}


class Forged(NamedTuple):
    """The auditor's input, and the codes of which one must be found."""

    ledger: list[bytes]
    releases: list[bytes]
    codes: set[str]


Fraud = Callable[[Written], Iterator[Forged]]


def forged(written: Written, *codes: str) -> Forged:
    """Return a forged ledger with its releases unchanged."""
    return Forged(written.lines(), written.release_lines(), set(codes))


def behind(true: Written, index: int, kind: str, **members: Any) -> Written:
    """Return a renumbered ledger with a further entry of the same series and policy after an entry."""
    written, entry = true.copy(), true.entries[index]
    link = {name: entry[name] for name in ("key", "epoch", "previous", "hash")}
    made = {"series": entry["series"], "sequence": 0, "entry": kind, "policy": entry["policy"]}
    written.entries.insert(index + 1, made | members | link)
    return renumber(written)


def registered(true: Written, index: int, add: list[list[int]], **figures: int) -> Written:
    """Return a ledger that registers landmarks after an entry, free of charge.

    The figures are those before it unless others are given.
    """
    before = {name: true.entries[index][name] for name in FIGURES}
    return behind(true, index, "landmarks", add=add, charged_nano=0, **before | figures)


def frauds_in(module: str, shown: type = Forged) -> tuple[Any, ...]:
    """Return a module's kinds of fraud in order: its functions that yield the auditor's input."""
    own = (each for each in vars(sys.modules[module]).values() if isfunction(each) and each.__module__ == module)
    return tuple(each for each in own if each.__annotations__["return"] == Iterator[shown])  # type: ignore[valid-type]
