"""Long logs of one series: what they may contain, and how one runs through the real decision.

The sums are taken here.
"""

import json
from decimal import Decimal
from typing import NamedTuple

from hypothesis import strategies as st

from stream_app.deciding.context import Context, Limits
from stream_app.deciding.outcome import ProcessedRecord, RejectedRecord
from stream_app.privacy.guard import Guard
from tests.run import ADAPTIVE, BALANCED, KEYS, SKIP, UNIFORM, Run, observation, policy

SERIES = "home-7"
NANO = 10**9


Span = tuple[int, int | None]
"""An offset in steps, and the length of an interval."""


class Events(NamedTuple):
    """Several events in a row, that many steps apart; a gap of 0 is a duplicate, a negative gap comes late."""

    gaps: list[int]
    times: int


class Landmarks(NamedTuple):
    """A registration relative to the present step; an offset with a length is an interval."""

    spans: list[Span]


class Version(NamedTuple):
    """A policy version, its landmarks relative to the present step."""

    epsilon: float
    scheme: dict[str, object]
    level: str
    step: int
    landmarks: list[Span]
    spare: int
    length: int
    window: int = 1


class Close(NamedTuple):
    """The end of the series."""


Move = Events | Landmarks | Version | Close

EPSILONS = st.one_of(
    st.floats(1e-9, 2.0),
    st.integers(1, 40).map(lambda whole: float(f"{whole}e-9")),
    st.sampled_from([0.1, 0.3, 1.0, 1 / 3]),
)
PASSED_SPANS = st.tuples(st.integers(-5, -1), st.none())
ANY_SPANS = st.one_of(PASSED_SPANS, st.tuples(st.integers(-5, 60), st.one_of(st.none(), st.integers(1, 9))))
LATER_SPANS = st.tuples(st.integers(1, 80), st.one_of(st.none(), st.integers(1, 30)))
GAPS = st.lists(st.sampled_from([1, 1, 1, 1, 2, 3, 70, 0, -1]), min_size=4, max_size=12)
EVENTS = st.builds(Events, GAPS, st.integers(1, 8))
PLAIN = [dict(UNIFORM), dict(ADAPTIVE), dict(SKIP), dict(BALANCED)]
STEPWISE = st.builds(
    Version,
    epsilon=EPSILONS,
    scheme=st.sampled_from(PLAIN),
    level=st.sampled_from(["landmark", "landmark", "landmark", "event", "user"]),
    step=st.sampled_from([1, 7, 1000]),
    landmarks=st.lists(LATER_SPANS, min_size=1, max_size=6) | st.lists(ANY_SPANS, max_size=3),
    spare=st.integers(0, 3),
    length=st.integers(1, 200),
    window=st.just(1),
)
WINDOWED = st.builds(
    Version._replace,
    STEPWISE.filter(lambda version: version.level == "landmark"),
    scheme=st.sampled_from([*PLAIN, {"name": "bd"}, {"name": "ba"}, {"name": "ba", "minimum": 1.0}]),
    window=st.sampled_from([2, 2, 3, 5, 40]),
)
VERSIONS = STEPWISE | WINDOWED
MOVES = st.one_of(EVENTS, EVENTS, EVENTS, st.builds(Landmarks, st.lists(ANY_SPANS, min_size=1, max_size=2)), VERSIONS)
TRACES = st.tuples(
    VERSIONS, st.lists(MOVES, min_size=15, max_size=50), st.one_of(st.none(), st.floats(1e-9, 4.0)), st.booleans()
)


class Period:
    """What one policy version really spent, from the releases alone, and which steps count as landmarks."""

    def __init__(self, version: Version, now_ms: int, start_ms: int, budget_nano: int) -> None:
        """Begin without spends."""
        self.step = version.step
        self.start_ms = start_ms  # the end of the last step decided before it
        self.level = version.level
        self.window = version.window
        self.budget_nano = budget_nano
        self.landmarks = steps_of(version.landmarks, version.step, now_ms) if version.level == "landmark" else set()
        self.spends: dict[int, int] = {}

    @property
    def worst_nano(self) -> int:
        """Return the largest sum of spends over L and any ``window`` steps in a row."""
        if self.level == "user":
            return sum(self.spends.values())
        regular = {step: spend for step, spend in self.spends.items() if step not in self.landmarks}
        worst, held, start = 0, 0, 0
        steps = list(regular)  # which increase
        for step in steps:
            held += regular[step]
            while steps[start] <= step - self.window:
                held -= regular[steps[start]]
                start += 1
            worst = max(worst, held)
        return sum(self.spends.values()) - sum(regular.values()) + worst

    def near(self, later: "Period") -> bool:
        """Return whether a window of either contains a step that each of both spent on."""
        mine = [step * self.step for step, spend in self.spends.items() if spend]
        others = [step * later.step for step, spend in later.spends.items() if spend]
        if not mine or not others or self.window == later.window == 1:
            return False
        touched = (max(mine) + self.step - 1) // later.step  # the last of the later version's steps to do so
        own = min(others) // later.step - touched < later.window
        return own or min(others) < max(mine) + self.window * self.step


def spans_ms(spans: list[Span], step: int, now_ms: int) -> list[int | list[int]]:
    """Return landmarks as a record carries them, in milliseconds and off the grid."""
    at = [(max(0, now_ms + offset * step + step // 3), length) for offset, length in spans]
    return [start if length is None else [start, start + length * step] for start, length in at]


def steps_of(spans: list[Span], step: int, now_ms: int) -> set[int]:
    """Return the steps that spans touch, found millisecond by millisecond (or by tenths of a step)."""
    steps: set[int] = set()
    for span in spans_ms(spans, step, now_ms):
        start, end = span if isinstance(span, list) else (span, span + 1)
        steps |= {ms // step for ms in range(start, end, max(1, step // 10))} | {(end - 1) // step}
    return steps


class Trace:
    """A growing log of one series: after each record that goes in, the sums are taken again."""

    def __init__(self, lifetime: float | None, guard: type[Guard]) -> None:
        """Begin with nothing."""
        self.lifetime_nano = None if lifetime is None else int(lifetime * NANO)
        self.run = Run(
            Context(KEYS, limits=Limits(lifetime_nano=self.lifetime_nano, accept_weaker_policies=True)), guard
        )
        self.periods: list[Period] = []
        self.used_nano = 0  # by all periods but the present one
        self.version = 0
        self.now_ms = 0
        self.decided_ms, self.decided_end_ms = -1, 0
        self.events = self.versions = self.late_landmarks = self.closed = 0

    def play(self, move: Move) -> None:
        """Send a move's records and check the theorem after each."""
        for nth, period in enumerate(self.periods):
            assert not any(period.near(later) for later in self.periods[nth + 1 :])
        match move:
            case Events(gaps, times):
                for gap in gaps * times:
                    self._event(gap)
                    self._check()
            case Landmarks(spans):
                self._register(spans)
            case Version():
                self._version(move)
            case Close():
                self.closed += isinstance(self.run.feed({"type": "close", "series": SERIES}), ProcessedRecord)

    def _event(self, gap: int) -> None:
        step = self.periods[-1].step if self.periods else 1
        self.now_ms = max(0, self.now_ms + gap * step)
        outcome = self.run.feed(observation(SERIES, self.now_ms, (self.now_ms % 11000) / 1000))
        if isinstance(outcome, ProcessedRecord) and outcome.release is not None:
            release = json.loads(outcome.release)
            period = self.periods[-1]
            assert release["timestamp"] == self.now_ms // period.step * period.step
            assert release["timestamp"] > self.decided_ms
            self.decided_ms = release["timestamp"]
            self.decided_end_ms = self.decided_ms + period.step
            period.spends[release["timestamp"] // period.step] = release.get("epsilon_nano", 0)
            self.events += 1
        else:
            self.now_ms = max(self.now_ms, self.decided_ms)

    def _register(self, spans: list[Span]) -> None:
        outcome = self.run.feed(
            {"type": "landmarks", "series": SERIES, "add": spans_ms(spans, self._step, self.now_ms)}
        )
        if not self.periods:
            assert isinstance(outcome, RejectedRecord)
            return
        period = self.periods[-1]
        added = steps_of(spans, period.step, self.now_ms)
        passed = {step for step in added if step in period.spends or step < max(period.spends, default=0)}
        before = {step for step in added if step * period.step < period.start_ms}
        if isinstance(outcome, ProcessedRecord):
            assert period.level == "landmark"
            assert not before
            self.late_landmarks += bool(passed - period.landmarks)
            period.landmarks |= added
        elif period.level == "landmark" and not self.closed:
            assert passed or before, "landmarks after the last decided step are always allowed"
        self._check()

    @property
    def _step(self) -> int:
        return self.periods[-1].step if self.periods else 1

    def _version(self, move: Version) -> None:
        self.version += 1
        protection: dict[str, object] = {"level": move.level, "step": move.step}
        if move.level == "landmark":
            landmarks = spans_ms(move.landmarks, move.step, self.now_ms)
            protection |= {"landmarks": landmarks, "spare": move.spare}
            protection |= {"window": move.window} if move.window > 1 else {}
        if move.level == "user":
            protection["length"] = move.length
        weaker = {"weaker": True} if self.version % 2 else {}
        record = policy(SERIES, self.version, epsilon=move.epsilon, protection=protection, scheme=move.scheme, **weaker)
        outcome = self.run.feed(record)
        if isinstance(outcome, ProcessedRecord):
            budget_nano = int(Decimal(repr(move.epsilon)) * NANO)
            self.used_nano += self.periods[-1].worst_nano if self.periods else 0
            self.periods.append(Period(move, self.now_ms, self.decided_end_ms, budget_nano))
            self.versions += 1
        self._check()

    def _check(self) -> None:
        """Assert the theorem for every t of the current period, and the lifetime over all periods.

        Earlier periods were checked while they were current: nothing is added to them.
        """
        if self.periods:
            present = self.periods[-1]
            assert present.worst_nano <= present.budget_nano
            lifetime = self.periods[0].budget_nano if self.lifetime_nano is None else self.lifetime_nano
            assert self.used_nano + present.budget_nano <= lifetime


def play(trace: tuple[Version, list[Move], float | None, bool], guard: type[Guard] = Guard) -> Trace:
    """Play a trace to its end, with a close somewhere if the trace says so."""
    first, moves, lifetime, closing = trace
    played = Trace(lifetime, guard)
    played.play(first)
    if closing:
        moves = [*moves[: len(moves) * 3 // 4], Close(), *moves[len(moves) * 3 // 4 :]]
    for move in moves:
        played.play(move)
    if closing and played.closed:
        assert isinstance(played.run.feed(observation(SERIES, played.now_ms + 10**6, 1.0)), RejectedRecord)
    return played
