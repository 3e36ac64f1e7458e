"""A run without Kafka: records go through the real decision one by one, and the output is kept as bytes."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, assert_never

from stream_app.deciding.collection import Collection
from stream_app.deciding.context import Context, DefaultPolicy, Limits
from stream_app.deciding.decision import decide
from stream_app.deciding.members import Member, MemberChange
from stream_app.deciding.outcome import (
    CountedContribution,
    Outcome,
    ProcessedRecord,
    RejectedRecord,
    SeriesAndViews,
    WatermarkAdvance,
)
from stream_app.deciding.rows import SeriesRow
from stream_app.formats.records import InputRecord
from stream_app.privacy.guard import Guard
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.policy import policy_of
from stream_app.replaying.doubts import CHECKS

KEYS = KeyRing("0123456789abcdef", 0, bytes(range(32)))
ACCEPTING = [word for check in CHECKS for word in ("--accept", check)]
"""Options with which `replay` and `send` accept rows that look wrong."""
MADE_UP = ("--accept", "times")
"""Options with which they accept times near 1970."""
Record = Mapping[str, object]

NUMBER: dict[str, object] = {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.001}
LOCATION: dict[str, object] = {
    "kind": "location",
    "radius": 500,
    "resolution": 10,
    "bounds": {"south": -11.1, "west": -37.2, "north": -10.8, "east": -37.0},
}
COUNTS: dict[str, object] = {"kind": "counts", "keys": ["walk", "ride", "rest"], "sensitivity": 2}
CATEGORY: dict[str, object] = {"kind": "category", "categories": ["none", "contact", "ill", True]}
VECTOR: dict[str, object] = {
    "kind": "vector",
    "parts": {
        "pulse": {"lower": 30, "upper": 220, "resolution": 1},
        "oxygen": {"lower": 0.7, "upper": 1, "resolution": 0.01},
    },
}


@dataclass(frozen=True, slots=True)
class SampleKind:
    """A value kind for the tests that run for every kind; `tests.privacy.kinds.test_samples` checks every member."""

    declared: dict[str, object]
    values: tuple[object, ...]
    """Values within the range, at least three; the first two are far apart."""
    outside: tuple[object, ...] = ()
    """Valid values outside the range."""
    invalid: tuple[object, ...] = ()
    substitute: object = None
    """A substitute that a new policy may have, or None if the kind accepts none."""
    has_filter: bool = True
    has_clamp: bool = True

    @property
    def accepted(self) -> tuple[object, ...]:
        """Return all values that are not rejected."""
        return (*self.values, *self.outside)

    @property
    def filters(self) -> tuple[str, ...]:
        """Return the filters that may follow the kind; the last one is the strongest."""
        return ("none", "level") if self.has_filter else ("none",)


SAMPLES = {
    "number": SampleKind(NUMBER, (0.5, 9.5, 3.25, 0, 10, 1.011, 9, 5.5), (-40, 11, -5, 1e30), ("x",), substitute=0.5),
    "location": SampleKind(
        LOCATION,
        tuple({"latitude": north, "longitude": -37.1} for north in (-10.9, -10.95, -11, -10.93934)),
        ({"latitude": 10, "longitude": 0}, {"latitude": 0, "longitude": 0}),
        ({"latitude": -11},),
    ),
    "counts": SampleKind(
        COUNTS,
        (*({"walk": walk, "ride": 3, "rest": 0} for walk in (1, 39, 12)), {"ride": 2}, {}, {"rest": 2**53 - 1}),
        invalid=({"swim": 1},),
    ),
    "category": SampleKind(CATEGORY, ("ill", "none", True, "contact"), invalid=(1,), substitute=True),
    "vector": SampleKind(
        VECTOR,
        tuple({"pulse": pulse, "oxygen": oxygen} for pulse, oxygen in ((40, 0.97), (210, 0.97), (70, 0.9), (50, 1))),
        ({"oxygen": 7, "pulse": 1e30}, {"pulse": 300, "oxygen": -1}),
        ({"pulse": 70},),
        substitute={"pulse": 60, "oxygen": 1},
    ),
}
"""Every kind of single values. A new kind needs a row here; tests whose expected values differ by kind name it."""
KINDS = {name: sample.declared for name, sample in SAMPLES.items()}
FILTERS = [(name, filtered) for name, sample in SAMPLES.items() for filtered in sample.filters]
"""Every kind with each of its filters."""
UNIFORM: dict[str, object] = {"name": "uniform"}
ADAPTIVE: dict[str, object] = {"name": "adaptive"}
SKIP: dict[str, object] = {"name": "skip", "accept_risk": True}
BALANCED: dict[str, object] = {"name": "balanced"}
SCHEMES = {"uniform": UNIFORM, "adaptive": ADAPTIVE, "skip": SKIP, "balanced": BALANCED}


def policy(series: str, version: int = 1, **members: object) -> dict[str, object]:
    """Return a policy record; by default it is a plain number under Uniform."""
    record: dict[str, object] = {"type": "policy", "series": series, "version": version, "epsilon": 1.0}
    return record | {"protection": {"level": "landmark"}, "scheme": UNIFORM, "value": NUMBER} | members


def observation(series: str, timestamp_ms: int, value: object) -> dict[str, object]:
    """Return an observation record."""
    return {"type": "observation", "series": series, "timestamp": timestamp_ms, "value": value}


def reason(outcome: Outcome) -> str | None:
    """Return why a record was refused, or None if it was not."""
    return outcome.reason if isinstance(outcome, RejectedRecord) else None


def default(glob: str, **members: object) -> DefaultPolicy:
    """Return a default policy for the series that match a glob."""
    record = policy(glob) | members
    parameters = {name: part for name, part in record.items() if name not in {"type", "series", "version"}}
    return DefaultPolicy(glob, policy_of(parameters, 1))


class Run:
    """A log being decided, with the outputs of all series in order, and the rows."""

    def __init__(self, context: Context | None = None, guard: type[Guard] = Guard) -> None:
        """Begin; ``guard`` is what the states of this run contain, so that a broken guard can be tried."""
        self.context = context or Context(KEYS)
        self.guard = guard
        self.rows: dict[str, SeriesRow] = {}
        self.members: dict[str, Member] = {}
        self.collection = Collection(bytes(32))
        self.releases: list[bytes] = []
        self.ledger: list[bytes] = []
        self.rejects: list[bytes] = []
        self.spent_nano = 0
        self.offset = 0

    def lookup(self, series: str) -> SeriesRow | None:
        """Return the row of a series."""
        row = self.rows.get(series)
        if row is None or self.guard is Guard:
            return row
        return replace(row, state=replace(row.state, guard=self.guard(*row.state.guard)))

    def feed(self, record: Record | bytes | None, *, key: bytes | None = None, appended_ms: int = 0) -> Outcome:
        """Decide one record and keep the output."""
        value = json.dumps(record).encode() if isinstance(record, Mapping) else record
        found = InputRecord("landmark.events", 0, self.offset, appended_ms, key, value)
        outcome = decide(self.context, self.lookup, self.collection, found, self.members.get)
        self.offset += 1
        self._take(outcome)
        return outcome

    def _take(self, outcome: Outcome) -> None:
        match outcome:
            case SeriesAndViews(parts=parts):
                for part in parts:
                    self._take(part)
            case RejectedRecord():
                self.rejects.append(outcome.value)
            case ProcessedRecord():
                self._keep(outcome)
            case WatermarkAdvance():
                if outcome.adopted is not None:
                    self._keep(outcome.adopted)
                for step in outcome.steps:
                    self._keep(step)
                self.rows[outcome.row.series] = outcome.row
            case MemberChange():
                self._join(outcome)
            case CountedContribution():
                pass
            case _:
                assert_never(outcome)

    def _join(self, joined: MemberChange | None) -> None:
        if joined is not None:
            self.members[joined.member.chain] = joined.member
            self.ledger += [joined.entry.value] if joined.entry else []

    def _keep(self, outcome: ProcessedRecord) -> None:
        self._join(outcome.joined)
        self.rows[outcome.row.series] = outcome.row
        self.ledger += [entry.value for entry in outcome.entries]
        self.spent_nano += outcome.spent_nano
        if outcome.release is not None:
            self.releases.append(outcome.release)

    def feed_all(self, records: Iterable[Record | bytes | None]) -> "Run":
        """Decide records in order."""
        for record in records:
            self.feed(record)
        return self

    def entries(self, kind: str | None = None) -> list[dict[str, Any]]:
        """Return the parsed entries of the ledger, or only those of a given kind."""
        return [entry for entry in map(json.loads, self.ledger) if kind in (None, entry["entry"])]

    @property
    def reasons(self) -> list[str]:
        """Return why records were refused, in order."""
        return [json.loads(reject)["reason"] for reject in self.rejects]

    @property
    def outputs(self) -> tuple[list[bytes], list[bytes], list[bytes]]:
        """Return all output bytes."""
        return self.releases, self.ledger, self.rejects


def limited(**limits: object) -> Context:
    """Return a context with an operator's caps."""
    return Context(KEYS, limits=Limits(**limits))  # type: ignore[arg-type]
