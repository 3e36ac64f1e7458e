"""Frauds by sort: each yields forged copies of a true ledger, with the codes of which at least one must be found.

A forger who knows the format rewrites the chain with all hashes (`renumber`, `seal`); one who does not leaves them.
Where a ledger alone cannot show the fraud, because what it says would be true of another history, the releases do.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import orjson

from tests.audit.written import (
    SECOND,
    Record,
    Written,
    cover,
    hash_of,
    releases_in,
    renumber,
    seal,
    write,
)

FIGURES = {
    "budget_nano": "budget",
    "landmark_spent_nano": "landmark-spent",
    "landmarks_left": "landmarks-left",
    "regular_peak_nano": "regular-peak",
}
ARITHMETIC = {*FIGURES.values(), "share", "decision", "landmark-flag", "charge", "refused-landmark"}
CHAIN = {"gap", "truncated", "broken-chain", "out-of-order", "bad-hash"}


class Forged(NamedTuple):
    """What an auditor is shown, and the codes of which one has to be found."""

    ledger: list[bytes]
    releases: list[bytes]
    codes: set[str]


Fraud = Callable[[Written], Iterator[Forged]]


def forged(written: Written, *codes: str) -> Forged:
    """Return a forged ledger with its releases as they are."""
    return Forged(written.lines(), written.release_lines(), set(codes))


def deleted(true: Written) -> Iterator[Forged]:
    """An entry is gone; at the end only its release tells."""
    for index, entry in enumerate(true.entries):
        written = true.copy()
        del written.entries[index]
        if index < len(written.entries):
            yield forged(written, "truncated" if index == 0 else "gap")
        elif entry["entry"] == "release":
            yield forged(written, "release-without-entry")


def deleted_and_rewritten(true: Written) -> Iterator[Forged]:
    """A release entry is gone, and the chain rewritten as if it had never been."""
    for index, _ in releases_in(true):
        written = true.copy()
        del written.entries[index]
        yield forged(renumber(written), "release-without-entry")


def start_cut_off(true: Written) -> Iterator[Forged]:
    """The first entries are gone, without and with a new chain over the rest."""
    for index in range(1, len(true.entries)):
        written = true.copy()
        del written.entries[:index]
        yield forged(written, "truncated")
        yield forged(renumber(written), "no-policy", "policy-version", "release-without-entry")


def end_cut_off(true: Written) -> Iterator[Forged]:
    """The last entries are gone, which only their releases tell."""
    for index, _ in releases_in(true):
        written = true.copy()
        del written.entries[index:]
        yield forged(written, "release-without-entry")


def figure_changed(true: Written) -> Iterator[Forged]:
    """A figure is one off: bytes alone, with its own hash, with the whole chain."""
    for index, entry in enumerate(true.entries):
        for figure, code in FIGURES.items():
            for change in (-1, 1):
                if figure not in entry:
                    continue
                written = true.copy()
                written.entries[index][figure] += change
                yield forged(written, "bad-hash")
                written.entries[index]["hash"] = hash_of(written.entries[index])
                yield forged(written, "broken-chain", code)
                yield forged(seal(written), code)


def swapped(true: Written) -> Iterator[Forged]:
    """Two neighbours change places, without and with a new chain."""
    for index in range(len(true.entries) - 1):
        written = true.copy()
        first, second = written.entries[index : index + 2]
        written.entries[index : index + 2] = [second, first]
        yield forged(written, *CHAIN)
        if first["entry"] == second["entry"] == "release":
            yield forged(renumber(written), "step-order")


def inserted(true: Written) -> Iterator[Forged]:
    """A copy of an earlier release entry is put in as a new one: its step is decided twice."""
    for index, entry in releases_in(true):
        written = true.copy()
        written.entries.insert(index + 1, dict(entry))
        yield forged(renumber(written), "step-order")


def renumbered(true: Written) -> Iterator[Forged]:
    """Numbers jump from an entry on, in a rewritten chain."""
    for index in range(len(true.entries)):
        written = true.copy()
        for entry in written.entries[index:]:
            entry["sequence"] += 2
        yield forged(seal(written), "gap" if index else "truncated")


def conflicting(true: Written) -> Iterator[Forged]:
    """An entry stands a second time with another release under it: a step measured twice."""
    for index, entry in releases_in(true):
        other = dict(entry, release="5" * 64)
        other["hash"] = hash_of(other)
        lines = true.lines()
        yield Forged([*lines, orjson.dumps(other)], true.release_lines(), {"fork"})
        other = dict(other, previous="6" * 64)
        other["hash"] = hash_of(other)
        yield Forged([*lines[: index + 1], orjson.dumps(other), *lines[index + 1 :]], [], {"conflicting-duplicate"})


def forked(true: Written) -> Iterator[Forged]:
    """Two continuations from one entry on, each a whole chain of its own."""
    for index in range(1, len(true.entries)):
        written = true.copy()
        for entry in written.entries[index:]:
            entry["epoch"] += 1
        branch = seal(written, index).lines()[index:]
        yield Forged([*true.lines(), *branch], true.release_lines(), {"fork"})


def from_another_series(true: Written) -> Iterator[Forged]:
    """An entry of another series is put in its place, under this series' name."""
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


def landmark_flag(true: Written) -> Iterator[Forged]:
    """A landmark is called a regular step, or the other way round."""
    for index, _ in releases_in(true):
        written = true.copy()
        written.entries[index]["landmark"] ^= True
        yield forged(seal(written), "landmark-flag")


def landmarks_hidden(true: Written) -> Iterator[Forged]:
    """The policy is made to protect fewer steps than it did."""
    if not true.entries[0]["parameters"]["protection"].get("landmarks"):
        return
    written = true.copy()
    written.entries[0]["parameters"]["protection"]["landmarks"].pop()
    yield forged(seal(written), "landmark-flag", "landmarks-left", "share")


def spend_changed(true: Written) -> Iterator[Forged]:
    """A release spends one more or one less than its share, with figures and release to match."""
    for index, entry in releases_in(true):
        for change in (-1, 1):
            if entry.get("epsilon_nano", 0) + min(change, 0) < 1:
                continue
            written = true.copy()
            changed = written.entries[index]
            changed["epsilon_nano"] += change
            changed["landmark_spent_nano" if changed["landmark"] else "regular_peak_nano"] += change
            release = next(one for one in written.releases if one["timestamp"] == changed["timestamp"])
            release |= {"epsilon_nano": changed["epsilon_nano"], "scale": 10**10 / changed["epsilon_nano"]}
            yield forged(seal(cover(written)), "share")


def overspent(true: Written) -> Iterator[Forged]:
    """Every spend is doubled, and every figure with it: each entry fits the next, and the theorem is broken."""
    written = true.copy()
    for _, entry in releases_in(written):
        for figure in ("epsilon_nano", "landmark_spent_nano", "regular_peak_nano"):
            if figure in entry:
                entry[figure] *= 2
    yield forged(seal(written), "theorem")


def budget_raised(true: Written) -> Iterator[Forged]:
    """The budget is raised after the fact: in the figures, or in the promise itself."""
    written = true.copy()
    for entry in written.entries:
        if "budget_nano" in entry:
            entry["budget_nano"] += 10
    yield forged(seal(written), "budget")
    written.entries[0]["parameters"]["epsilon"] += 1e-8
    yield forged(seal(written), *ARITHMETIC)


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


def charge_changed(true: Written) -> Iterator[Forged]:
    """A registration of decided steps is free, or a policy charges something."""
    for index, entry in enumerate(true.entries):
        if "charged_nano" in entry:
            written = true.copy()
            written.entries[index]["charged_nano"] += -entry["charged_nano"] or 1
            yield forged(seal(written), "charge")


def registered_too_late(true: Written) -> Iterator[Forged]:
    """Decided steps become landmarks though their charge no longer fits; or steps of another period; or at no level."""
    for index, entry in releases_in(true):
        peak, spent = entry["regular_peak_nano"], entry["landmark_spent_nano"]
        if not peak or spent + 4 * peak <= entry["budget_nano"]:
            continue
        written = true.copy()
        start = entry["timestamp"] // (2 * SECOND) * 2 * SECOND
        add = [[max(0, start - 6 * SECOND), start + 2 * SECOND]]
        names = ("series", "sequence")
        registration = {name: entry[name] for name in names} | {
            "entry": "landmarks",
            "policy": entry["policy"],
            "add": add,
        }
        figures = ("budget_nano", "landmark_spent_nano", "landmarks_left", "regular_peak_nano")
        registration |= {"charged_nano": 0} | {name: entry[name] for name in figures}
        registration |= {name: entry[name] for name in ("key", "epoch", "previous", "hash")}
        written.entries.insert(index + 1, registration)
        yield forged(renumber(written), "refused-landmark", "charge")


def misaligned(true: Written) -> Iterator[Forged]:
    """A time is no start of a step."""
    for index, entry in enumerate(true.entries):
        written = true.copy()
        changed = written.entries[index]
        if entry["entry"] == "release":
            changed["timestamp"] += 1
        elif entry["entry"] == "landmarks":
            changed["add"][0][1] += 1
        else:
            continue
        yield forged(seal(written), "step-alignment")


def decision_turned(true: Written) -> Iterator[Forged]:
    """A release is said to have cost nothing, or one that cost nothing to have had another reason."""
    source = None
    for index, entry in releases_in(true):
        written = true.copy()
        changed = written.entries[index]
        turned = {"perturbed": "withheld" if source is None else "approximated", "withheld": "approximated"}
        changed["decision"] = turned.get(entry["decision"], "withheld")
        changed.pop("epsilon_nano", None)
        codes = {"decision", *FIGURES.values(), "release-mismatch"}
        yield forged(seal(written), *codes)
        source = entry["timestamp"] if entry["decision"] == "perturbed" else source


def epoch_backwards(true: Written) -> Iterator[Forged]:
    """An entry names an earlier epoch of the key than the one before it."""
    for index in range(1, len(true.entries)):
        written = true.copy()
        written.entries[index - 1]["epoch"] += 1
        yield forged(seal(written), "epoch-backwards")


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


def release_changed(true: Written) -> Iterator[Forged]:
    """A release's bytes are not those that its entry covers."""
    for index in range(len(true.releases)):
        written = true.copy()
        release = written.releases[index]
        release["policy"] += 1
        yield forged(written, "changed-release")
        yield Forged(true.lines(), [line[:-1] for line in written.release_lines()], {"malformed-release"})


def release_missing(true: Written) -> Iterator[Forged]:
    """A release is gone, or there is one too many."""
    for index in range(len(true.releases)):
        written = true.copy()
        del written.releases[index]
        yield forged(written, "entry-without-release")
        extra = dict(true.releases[index], timestamp=true.releases[index]["timestamp"] + 1)
        written = true.copy()
        written.releases.insert(index + 1, extra)
        yield forged(written, "release-without-entry")
        written = true.copy()
        written.releases.insert(index + 1, dict(true.releases[index], series="stranger"))
        yield forged(written, "release-without-entry")
        written.releases[index + 1] = dict(true.releases[index], policy=77)
        yield forged(written, "conflicting-duplicate")


def release_contradicts(true: Written) -> Iterator[Forged]:
    """A release that its entry covers says something else: less noise, another spend, source, policy or value."""
    for index, release in enumerate(true.releases):
        for member in ("scale", "epsilon_nano", "source", "policy", "measurement", "value"):
            if member not in release or (member == "value" and release["decision"] == "perturbed"):
                continue
            written = true.copy()
            changed = written.releases[index]
            changed[member] = "walk" if member == "measurement" else changed[member] + 1
            yield forged(seal(cover(written)), "release-mismatch")


FRAUDS: tuple[Fraud, ...] = (
    deleted,
    deleted_and_rewritten,
    start_cut_off,
    end_cut_off,
    figure_changed,
    swapped,
    inserted,
    renumbered,
    conflicting,
    forked,
    from_another_series,
    landmark_flag,
    landmarks_hidden,
    spend_changed,
    overspent,
    budget_raised,
    hidden_version,
    version_lowered,
    version_reaches_back,
    after_the_end,
    charge_changed,
    registered_too_late,
    misaligned,
    decision_turned,
    epoch_backwards,
    unknown_kind,
    unknown_terms,
    release_changed,
    release_missing,
    release_contradicts,
)
