"""Frauds against what was promised, and entries in forms that no ledger has."""

from collections.abc import Iterator

from tests.audit.frauds.forged import Forged, forged
from tests.audit.written import SECOND, Record, Written, releases_in, renumber, seal


def landmarks_hidden(true: Written) -> Iterator[Forged]:
    """The policy is made to protect fewer steps than it did."""
    if not true.entries[0]["parameters"]["protection"].get("landmarks"):
        return
    written = true.copy()
    written.entries[0]["parameters"]["protection"]["landmarks"].pop()
    yield forged(seal(written), "landmark-flag", "landmarks-left", "share")


def hidden_version(true: Written) -> Iterator[Forged]:
    """A second version with the same epsilon starts the budget anew; the total shows it."""
    for index, entry in releases_in(true):
        if not (entry["landmark_spent_nano"] or entry["regular_peak_nano"]):
            continue
        written = true.copy()
        policy = dict(written.entries[0], policy=entry["policy"] + 1)
        policy["parameters"] = dict(policy["parameters"], protection={"level": "event", "step": SECOND})
        del written.entries[index + 1 :]
        written.entries.append(policy)
        del written.releases[sum(1 for _ in releases_in(written)) :]
        yield forged(renumber(written), "lifetime")


def version_lowered(true: Written) -> Iterator[Forged]:
    """A version does not rise, or entries name one that does not rule."""
    for index, entry in enumerate(true.entries):
        if "policy" in entry and index:
            written = true.copy()
            written.entries[index]["policy"] += 1 if entry["entry"] != "policy" else -2
            yield forged(seal(written), "policy-version")
    written = true.copy()
    written.entries.insert(1, dict(written.entries[0]))
    yield forged(renumber(written), "policy-version")


def version_reaches_back(true: Written) -> Iterator[Forged]:
    """A new version calls steps landmarks that are decided already."""
    written = true.copy()
    end = written.entries[-1]
    if end["entry"] == "close":
        return
    protection = {"level": "landmark", "step": SECOND, "landmarks": [end["timestamp"]]}
    policy = dict(
        written.entries[0], policy=9, parameters=dict(written.entries[0]["parameters"], protection=protection)
    )
    written.entries.append(policy)
    yield forged(renumber(written), "policy-landmarks")


def after_the_end(true: Written) -> Iterator[Forged]:
    """A closed series goes on."""
    for index in range(1, len(true.entries)):
        written = true.copy()
        names = ("series", "sequence", "entry", "policy", "key", "epoch", "previous", "hash")
        close = {name: true.entries[index - 1][name] for name in names} | {"entry": "close"}
        written.entries.insert(index, close)
        yield forged(renumber(written), "after-close")


def unknown_kind(true: Written) -> Iterator[Forged]:
    """An entry of a kind, with a member, of a type or in a spelling that no version of the ledger has."""
    for index, entry in enumerate(true.entries):
        written = true.copy()
        written.entries[index] = entry | {"entry": "grant"}
        yield forged(seal(written), "unknown-entry")
        written.entries[index] = {"extra": 1} | entry
        yield forged(seal(written), "malformed-entry")
        written.entries[index] = entry | {"epoch": float(entry["epoch"])}
        yield forged(seal(written), "malformed-entry")
        lines = true.lines()
        lines[index] = lines[index].replace(b'"sequence":', b'"sequence": ')
        yield Forged(lines, true.release_lines(), {"malformed-entry"})
        lines[index] = lines[index].replace(b'"sequence": ', b'"sequence":7,"sequence":')
        yield Forged(lines, true.release_lines(), {"malformed-entry"})
        lines[index] = lines[index][: len(lines[index]) // 2]
        yield Forged(lines, true.release_lines(), {"malformed-entry"})


def unknown_terms(true: Written) -> Iterator[Forged]:
    """A policy with a member or a value that this audit cannot account for."""
    for part, member, value in (
        (None, "discount", 1),
        ("protection", "level", "w-event"),
        ("protection", "window", 9),
        ("protection", "step", 0),
        ("scheme", "name", "generous"),
        ("value", "kind", "letter"),
        ("value", "resolution", 100),
        (None, "epsilon", "1"),
        (None, "epsilon", 1e-10),
        (None, "filter", "strong"),
    ):
        written = true.copy()
        parameters: Record = written.entries[0]["parameters"]
        (parameters if part is None else parameters[part])[member] = value
        yield forged(seal(written), "unknown-terms")


FRAUDS = (
    landmarks_hidden,
    hidden_version,
    version_lowered,
    version_reaches_back,
    after_the_end,
    unknown_kind,
    unknown_terms,
)
