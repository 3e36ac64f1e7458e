"""Renewals in random logs, against a literal reading of their rule, and the spends of all versions, summed."""

import json
from typing import Any, NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_app.deciding.context import Context, Limits
from stream_app.deciding.outcome import ProcessedRecord
from stream_app.deciding.rebuild import rebuild
from stream_app.privacy.weaker import less_protected
from tests.run import ADAPTIVE, BALANCED, KEYS, SKIP, UNIFORM, Run, observation, policy
from tests.suite.speeds import scaled

NANO = 10**9
STEP = 10
A = "a"


class Event(NamedTuple):
    """An event ``gap_ms`` after the last one; some are late, duplicates, or have no value."""

    gap_ms: int
    valid: bool


class Late(NamedTuple):
    """Registered landmarks, by their distance in steps from the current one."""

    offsets: list[int]


class Version(NamedTuple):
    """An operator's version; its landmarks and bounds are relative to now."""

    epsilon: float
    scheme: dict[str, object]
    protection: dict[str, object]
    landmarks: list[int]
    bounds_ms: list[int]


EVENTS = st.builds(Event, st.sampled_from([10, 10, 10, 13, 20, 7, 90, 0, -10]), st.sampled_from([True] * 9 + [False]))
LATER = st.lists(st.integers(1, 40), max_size=6)
VERSIONS = st.builds(
    Version,
    st.sampled_from([0.1, 0.3, 1.0, 1 / 3]),
    st.sampled_from([dict(UNIFORM), dict(ADAPTIVE), dict(SKIP), dict(BALANCED)]),
    st.sampled_from(
        [
            {"level": "landmark"},
            {"level": "landmark", "spare": 2},
            {"level": "landmark", "window": 3},
            {"level": "user", "length": 6},
        ]
    ),
    LATER,
    st.lists(st.integers(-50, 600), max_size=12),
)
MOVES = st.lists(
    EVENTS
    | EVENTS
    | EVENTS
    | EVENTS
    | st.builds(Late, st.lists(st.integers(-3, 30), min_size=1, max_size=2))
    | VERSIONS,
    min_size=10,
    max_size=120,
)


class Reign:
    """One version, as modelled by this test."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        """Begin without an event."""
        self.parameters = parameters
        self.bounds: list[int] = parameters.get("renew", [])
        self.last_ms: int | None = None
        self.used_nano = 0  # as the ledger says: charges for late landmarks are in it
        self.spends: dict[int, int] = {}

    @property
    def budget_nano(self) -> int:
        """Return the whole epsilon."""
        return int(self.parameters["epsilon"] * NANO)

    def worst_nano(self, landmarks: set[int]) -> int:
        """Return the largest sum over landmarks and any window of other steps, by checking each window."""
        protection = self.parameters["protection"]
        if protection["level"] == "user":
            return sum(self.spends.values())
        window = protection.get("window", 1)
        regular = {step: nano for step, nano in self.spends.items() if step not in landmarks}
        sums = [sum(regular.get(at + each, 0) for each in range(window)) for at in regular]
        return sum(nano for step, nano in self.spends.items() if step in landmarks) + max(sums, default=0)


class Life:
    """A series' log under way."""

    def __init__(self, lifetime: float) -> None:
        """Begin with nothing."""
        self.lifetime_nano = int(lifetime * NANO)
        self.run = Run(Context(KEYS, limits=Limits(lifetime_nano=self.lifetime_nano)))
        self.reigns: list[Reign] = []
        self.landmarks: set[int] = set()
        self.now_ms = 100
        self.renewals = {"begun": 0, "refused": 0}

    def play(self, move: Event | Late | Version) -> None:
        """Send a record, and compare its result with the rule."""
        match move:
            case Event():
                self._event(move)
            case Late():
                at = [max(0, self.now_ms + offset * STEP) for offset in move.offsets]
                outcome = self.run.feed({"type": "landmarks", "series": A, "add": at})
                if isinstance(outcome, ProcessedRecord):
                    self.landmarks |= {each // STEP for each in at}
                    entry = json.loads(self.run.ledger[-1])
                    self.reigns[-1].used_nano = entry["landmark_spent_nano"] + entry["regular_peak_nano"]
            case Version():
                self._version(move)
        total = sum(reign.worst_nano(self.landmarks) for reign in self.reigns)
        assert total <= self.lifetime_nano
        assert all(reign.worst_nano(self.landmarks) <= reign.budget_nano for reign in self.reigns)

    def _event(self, move: Event) -> None:
        at = max(0, self.now_ms + move.gap_ms)
        start, row, entries = at // STEP * STEP, self.run.rows.get(A), len(self.run.ledger)
        outcome = self.run.feed(observation(A, at, 5 if move.valid else "five"))
        if not isinstance(outcome, ProcessedRecord):
            assert self.run.rows.get(A) is row, "a refused event changes nothing"
            return
        self.now_ms = at
        reign = self.reigns[-1]
        due = [each for each in reign.bounds if reign.last_ms is not None and reign.last_ms < each <= start]
        expected = None
        if due:
            closed = sum(each.used_nano for each in self.reigns)
            expected = "begun" if closed + reign.budget_nano <= self.lifetime_nano else "refused"
            self.renewals[expected] += 1
        assert outcome.renewal == expected
        new = [json.loads(entry) for entry in self.run.ledger[entries:]]
        assert [entry["entry"] for entry in new] == ["policy"] * (expected == "begun") + ["release"]
        if expected == "begun":
            assert row is not None
            assert not less_protected(self.run.rows[A].policy, row.policy, row.state)
            self._begun(new[0], reign, start)
            reign = self.reigns[-1]
        spent = new[-1]
        assert spent["policy"] == self.run.rows[A].policy.version
        assert spent["landmark"] is (
            reign.parameters["protection"]["level"] == "user" or start // STEP in self.landmarks
        )
        reign.last_ms, reign.used_nano = start, spent["landmark_spent_nano"] + spent["regular_peak_nano"]
        reign.spends[start // STEP] = spent.get("epsilon_nano", 0)

    def _begun(self, entry: dict[str, Any], former: Reign, start: int) -> None:
        """Compare a renewed version with the values from the former version, member by member."""
        found, old = entry["parameters"], former.parameters
        assert entry["charged_nano"] == 0
        assert entry["budget_nano"] == former.budget_nano
        assert found.get("renew", []) == [each for each in former.bounds if each > start]
        assert former.last_ms is not None
        kept = {step for step in self.landmarks if step > former.last_ms // STEP}
        spans = found["protection"].get("landmarks", [])
        assert all(low % STEP == high % STEP == 0 for low, high in spans)
        if old["protection"]["level"] == "landmark":
            assert {step for low, high in spans for step in range(low // STEP, high // STEP)} == kept
        ours, theirs = ({**each, "renew": 0, "protection": 0} for each in (found, old))
        assert ours == theirs
        ours, theirs = ({**each["protection"], "landmarks": 0} for each in (found, old))
        assert ours == theirs
        self.reigns.append(Reign(found))

    def _version(self, move: Version) -> None:
        row = self.run.rows.get(A)
        version = row.policy.version + 1 if row else 1
        protection = {**move.protection, "step": STEP}
        marks = [self.now_ms + offset * STEP for offset in move.landmarks] if "length" not in protection else []
        if "length" not in protection:
            marks += [step * STEP for step in sorted(self.landmarks) if step * STEP > self.now_ms]
            protection["landmarks"] = marks
        scheme = UNIFORM if "length" in protection else move.scheme
        bounds = sorted({max(0, self.now_ms + bound) for bound in move.bounds_ms})
        record = policy(A, version, epsilon=move.epsilon, protection=protection, scheme=scheme, renew=bounds)
        if isinstance(self.run.feed(record), ProcessedRecord):
            self.landmarks |= {mark // STEP for mark in marks}
            parameters = {name: part for name, part in record.items() if name not in {"type", "series", "version"}}
            self.reigns.append(Reign(parameters))


@settings(max_examples=scaled(75), suppress_health_check=list(HealthCheck))
@given(VERSIONS, MOVES, st.floats(0.1, 6.0))
def test_each_bound_counts_once_and_no_life_is_passed(
    first: Version, moves: list[Event | Late | Version], lifetime: float
) -> None:
    """The check covers which event renews, what begins, what is refused, and the total cost of all versions."""
    life = Life(lifetime)
    for move in (first, *moves):
        life.play(move)
    assert rebuild(life.run.context, life.run.ledger, life.run.releases) == life.run.rows


def test_the_random_logs_renew() -> None:
    """A log of the same moves has renewals and refused renewals."""
    life = Life(2.0)
    first = Version(0.3, dict(UNIFORM), {"level": "landmark"}, [5], list(range(50, 900, 50)))
    life.play(first)
    for _ in range(90):
        life.play(Event(10, valid=True))
    assert life.renewals["begun"] > 3
    assert life.renewals["refused"] > 3
