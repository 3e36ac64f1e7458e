"""Frauds against the chain of a series: entries removed, moved, repeated, or taken from elsewhere."""

from collections.abc import Iterator

import orjson

from tests.audit.frauds.forged import ARITHMETIC, CHAIN, Forged, forged, frauds_in
from tests.audit.written import Written, hash_of, releases_in, renumber, seal, write


def deleted(true: Written) -> Iterator[Forged]:
    """An entry is missing; at the end, only its release shows it."""
    for index, entry in enumerate(true.entries):
        written = true.copy()
        del written.entries[index]
        if index < len(written.entries):
            yield forged(written, "truncated" if index == 0 else "gap")
        elif entry["entry"] == "release":
            yield forged(written, "release-without-entry")


def deleted_and_rewritten(true: Written) -> Iterator[Forged]:
    """A release entry is missing, and the chain is rewritten as if it had never existed."""
    for index, _ in releases_in(true):
        written = true.copy()
        del written.entries[index]
        yield forged(renumber(written), "release-without-entry")


def start_cut_off(true: Written) -> Iterator[Forged]:
    """The first entries are missing, with and without a new chain over the rest."""
    for index in range(1, len(true.entries)):
        written = true.copy()
        del written.entries[:index]
        yield forged(written, "truncated")
        if written.entries[0]["entry"] != "policy" or any(releases_in(Written(true.entries[:index], []))):
            yield forged(renumber(written), "no-policy", "policy-version", "release-without-entry")


def end_cut_off(true: Written) -> Iterator[Forged]:
    """The last entries are missing, which only their releases show."""
    for index, _ in releases_in(true):
        written = true.copy()
        del written.entries[index:]
        yield forged(written, "release-without-entry")


def swapped(true: Written) -> Iterator[Forged]:
    """Two neighbouring entries are swapped, with and without a new chain."""
    for index in range(len(true.entries) - 1):
        written = true.copy()
        first, second = written.entries[index : index + 2]
        written.entries[index : index + 2] = [second, first]
        yield forged(written, *CHAIN)
        if first["entry"] == second["entry"] == "release":
            yield forged(renumber(written), "step-order")


def inserted(true: Written) -> Iterator[Forged]:
    """A copy of an earlier release entry is inserted as a new one, so its step is decided twice."""
    for index, entry in releases_in(true):
        written = true.copy()
        written.entries.insert(index + 1, dict(entry))
        yield forged(renumber(written), "step-order")


def renumbered(true: Written) -> Iterator[Forged]:
    """Sequence numbers jump from one entry on, in a rewritten chain."""
    for index in range(len(true.entries)):
        written = true.copy()
        for entry in written.entries[index:]:
            entry["sequence"] += 2
        yield forged(seal(written), "gap" if index else "truncated")


def conflicting(true: Written) -> Iterator[Forged]:
    """An entry appears twice, the second time with another release: its step is measured twice."""
    for index, entry in releases_in(true):
        other = dict(entry, release="5" * 64)
        other["hash"] = hash_of(other)
        lines = true.lines()
        yield Forged([*lines, orjson.dumps(other)], true.release_lines(), {"fork"})
        other = dict(other, previous="6" * 64)
        other["hash"] = hash_of(other)
        yield Forged([*lines[: index + 1], orjson.dumps(other), *lines[index + 1 :]], [], {"conflicting-duplicate"})


def forked(true: Written) -> Iterator[Forged]:
    """From one entry on there are two continuations, each a complete chain."""
    for index in range(1, len(true.entries)):
        written = true.copy()
        for entry in written.entries[index:]:
            entry["epoch"] += 1
        branch = seal(written, index).lines()[index:]
        yield Forged([*true.lines(), *branch], true.release_lines(), {"fork"})


def from_another_series(true: Written) -> Iterator[Forged]:
    """An entry is replaced by one of another series, under this series' name."""
    other = write(
        """
        policy 1 {"epsilon": 5e-9, "scheme": {"name": "uniform"}, "level": "event"}
        0 perturbed . 5 | 0 0 5
        """,
        "other",
    )
    for index, _ in releases_in(true):
        written = true.copy()
        stranger = dict(other.entries[1], series=true.entries[0]["series"])
        written.entries[index] = stranger
        yield forged(written, "bad-hash")
        stranger["sequence"] = index + 1
        stranger["hash"] = hash_of(stranger)
        yield forged(written, "broken-chain")
        yield forged(seal(written), *ARITHMETIC, "step-order", "policy-version")


def epoch_backwards(true: Written) -> Iterator[Forged]:
    """An entry names an earlier epoch of the key than the one before it."""
    for index in range(1, len(true.entries)):
        written = true.copy()
        written.entries[index - 1]["epoch"] = written.entries[index]["epoch"] + 1
        yield forged(seal(written), "epoch-backwards")


FRAUDS = frauds_in(__name__)
