"""The ledger's guarantees, checked from its bytes alone: nothing here calls the code that it judges.

The books cover every entry and release that was ever in a log, in the order in which a reader of uncommitted records
could see them. Records of an aborted transaction count like the rest.
"""

from bisect import bisect_left
from fractions import Fraction
from hashlib import blake2b
from itertools import accumulate, pairwise
from math import ceil
from typing import Any, Final, NamedTuple

import orjson

_CLAIM: Final = b""


class ViolationError(Exception):
    """A guarantee was broken; ``promise`` names it in a word or two."""

    def __init__(self, promise: str, found: str) -> None:
        """Keep both as fields."""
        super().__init__(promise, found)
        self.promise, self.found = promise, found

    def __str__(self) -> str:
        return f"{self.promise}: {self.found}"


class _Spend(NamedTuple):
    """What one step measured under one policy version, in nano-epsilon."""

    step: int
    nano: int


class _Version:
    """The reign of one policy version over a series."""

    def __init__(self, entry: Any) -> None:
        parameters = entry["parameters"]
        protection = parameters["protection"]
        self.level: str = protection["level"]
        self.step_ms: int = protection.get("step", 1)
        self.unit_ms: int | None = protection.get("unit")
        self.offset_ms: int = protection.get("offset", 0)
        self.late: set[int] = set()
        """Units that became landmarks after their step had spent."""
        self.window: int = protection.get("window", 1) if self.level in {"landmark", "w-event"} else 1
        self.budget_nano: int = entry["budget_nano"]
        self.landmarks: set[int] = set()
        self.spends: dict[int, int] = {}
        self.mark(protection.get("landmarks", ()))

    def mark(self, landmarks: Any) -> None:
        """Treat steps as landmarks: timestamps, and intervals without their end."""
        length = self.unit_ms or self.step_ms
        for mark in landmarks:
            start, end = (mark, mark + 1) if isinstance(mark, int) else mark
            first, last = (start - self.offset_ms) // length, (end - 1 - self.offset_ms) // length
            fresh = set(range(first, last + 1)) - self.landmarks
            self.late |= {unit for unit in fresh if self._step_of(unit) in self.spends}
            self.landmarks |= fresh

    def _step_of(self, unit: int) -> int:
        return unit * (self.unit_ms or self.step_ms) // self.step_ms

    def step_at(self, timestamp_ms: int) -> int:
        """Return the step that contains a timestamp."""
        return (timestamp_ms - self.offset_ms) // self.step_ms

    def most_nano(self) -> int:
        """Return the largest sum that the level limits: over all landmarks and any ``window`` consecutive steps."""
        if self.level == "user":
            return sum(self.spends.values())
        if self.unit_ms is not None:
            # A unit that was counted has lost a share of its step's spend, and no w of them more than the largest one.
            charged = sum(Fraction(self.spends[self._step_of(unit)], self.window) for unit in self.late)
            return ceil(charged + max(self.spends.values(), default=0))
        landmarks = self.landmarks if self.level == "landmark" else set()
        fixed = sum(nano for step, nano in self.spends.items() if step in landmarks)
        regular = sorted(step for step in self.spends if step not in landmarks)
        before = [0, *accumulate(self.spends[step] for step in regular)]
        ends = (bisect_left(regular, step + self.window) for step in regular)
        return fixed + max((before[end] - before[begin] for begin, end in enumerate(ends)), default=0)


class Books:
    """All entries and releases of one partition that anyone could have read."""

    def __init__(self) -> None:
        """Begin with empty logs."""
        self._entries: dict[tuple[str, int], bytes] = {}
        self._lines: dict[bytes, int] = {}  # how often an entry's bytes lie in the log
        self._promised: set[str] = set()  # digests of releases that entries name
        self._released: dict[tuple[str, int], bytes] = {}
        self._versions: dict[str, dict[int, _Version]] = {}
        self._claims: dict[str, dict[str, int]] = {}  # by member and series
        self._caps: dict[str, dict[int, int]] = {}  # by member and sequence
        self.rejects_lost: list[bytes] = []

    @property
    def empty(self) -> bool:
        """Whether no entry was ever seen."""
        return not self._entries

    def enter(self, key: bytes | None, value: bytes) -> None:
        """Record an entry of the ledger.

        Raises:
            ViolationError: if another entry had its place in the chain, or it breaks its policy's guarantee.
        """
        if key == _CLAIM:
            return
        entry = orjson.loads(value)
        place = (entry["series"], entry["sequence"])
        before = self._entries.setdefault(place, value)
        if before != value:
            raise ViolationError("what was seen binds", f"two entries {place}: {before!r} and {value!r}")
        self._lines[value] = self._lines.get(value, 0) + 1
        if self._lines[value] > 1:
            return
        if entry["entry"] == "release":
            self._promised.add(entry["release"])
        self._count(entry)

    def _count(self, entry: Any) -> None:
        self._claim(entry)
        versions = self._versions.setdefault(entry["series"], {})
        number = entry.get("policy")
        if entry["entry"] == "policy":
            versions[number] = _Version(entry)
        if number not in versions:
            return
        version = versions[number]
        if entry["entry"] == "landmarks":
            version.mark(entry["add"])
        if entry["entry"] == "release" and "epsilon_nano" in entry:
            step = version.step_at(entry["timestamp"])
            if step in version.spends:
                raise ViolationError("one release a step", f"{entry['series']} spends twice at {entry['timestamp']}")
            version.spends[step] = entry["epsilon_nano"]
        if version.most_nano() > version.budget_nano:
            found = f"{entry['series']} spends {version.most_nano()} of {version.budget_nano} with {entry['sequence']}"
            raise ViolationError("the inequality", found)
        claim = self._claims.get(_member(entry["series"]), {}).get(entry["series"])
        if claim is not None and (total := sum(one.most_nano() for one in versions.values())) > claim:
            raise ViolationError("the claim", f"{entry['series']} spends {total} of {claim} with {entry['sequence']}")

    def _claim(self, entry: Any) -> None:
        member = _member(entry["series"])
        caps = self._caps.setdefault(member, {})
        if entry["entry"] == "member":
            if caps and entry["cap_nano"] >= min(caps.values()):
                raise ViolationError("a cap falls", f"{member}: {entry['cap_nano']} after {caps}")
            caps[entry["sequence"]] = entry["cap_nano"]
        elif "lifetime_nano" in entry:
            self._claims.setdefault(member, {})[entry["series"]] = entry["lifetime_nano"]
        claims = self._claims.get(member, {})
        if caps and sum(claims.values()) > min(caps.values()):
            raise ViolationError("the cap of a member", f"{member}: {claims} of {caps} with {entry['series']}")

    def publish(self, value: bytes) -> None:
        """Record a release.

        Raises:
            ViolationError: if no earlier entry names it, or another one was published for its step.
        """
        if blake2b(value, digest_size=32).hexdigest() not in self._promised:
            raise ViolationError("entry before release", f"no entry yet for {value!r}")
        release = orjson.loads(value)
        place = (release["series"], release["timestamp"])
        before = self._released.setdefault(place, value)
        if before != value:
            raise ViolationError("what was seen binds", f"two releases: {before!r} and {value!r}")

    def without_lost_rejects(self, found: list[Any], wanted: list[Any], *, row_lost: bool) -> list[Any]:
        """Omit what is not wanted, once for each time that the log lost it: nothing shows it without its row."""
        kept = []
        for one in found:
            if row_lost and one not in wanted and one.value in self.rejects_lost:
                self.rejects_lost.remove(one.value)
            else:
                kept.append(one)
        return kept

    def lose(self, values: list[bytes]) -> None:
        """Forget entries that a log lost: nobody is bound by them any more."""
        for value in values:
            entry = orjson.loads(value)
            self._lines[value] = self._lines.get(value, 1) - 1
            if self._lines[value] <= 0 and "series" in entry:
                self._forget(entry)

    def _forget(self, entry: Any) -> None:
        self._entries.pop((entry["series"], entry["sequence"]), None)
        self._caps.get(_member(entry["series"]), {}).pop(entry["sequence"] if entry["entry"] == "member" else 0, None)
        if "lifetime_nano" in entry:
            self._claims[_member(entry["series"])].pop(entry["series"], None)
        version = self._versions.get(entry["series"], {}).get(entry.get("policy"))
        if entry["entry"] == "release" and version is not None:
            version.spends.pop(version.step_at(entry["timestamp"]), None)
            self._released.pop((entry["series"], entry["timestamp"]), None)


def _member(series: str) -> str:
    return series.partition("/")[0]


def check_chains(ledger: list[bytes]) -> None:
    """Check that the committed entries of each series form a chain without a gap.

    Raises:
        ViolationError: if they do not.
    """
    chains: dict[str, list[Any]] = {}
    for value in ledger:
        entry = orjson.loads(value)
        if entry["entry"] != "claim":
            chains.setdefault(entry["series"], []).append(entry)
    for series, entries in sorted(chains.items()):
        if [entry["sequence"] for entry in entries] != list(range(1, len(entries) + 1)):
            raise ViolationError("one chain", f"{series} has {[entry['sequence'] for entry in entries]}")
        if any(after["previous"] != before["hash"] for before, after in pairwise(entries)):
            raise ViolationError("one chain", f"{series} is broken")
