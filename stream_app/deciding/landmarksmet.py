"""Counts the landmark steps that have an event; a count of zero often means a wrong time zone or unit (seconds)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from stream_app.calendar.words import duration_in_words, moment_in_words
from stream_app.deciding.context import DefaultPolicy
from stream_app.formats import wire
from stream_app.formats.records import Contribution, LandmarksRecord, Observation, PolicyRecord, Watermark
from stream_app.plain import some_of
from stream_app.privacy.landmarks import NO_LANDMARKS, Grid, Interval, LandmarkSet, aligned
from stream_app.privacy.policy import Policy, PolicyError, policy_of, stored_policy_of

FAR_APART = 100
"""The gap between events, in steps, at which a step begins to look too short for the events."""


class _Series:
    """The known landmarks of one series, and how many of them have an event.

    Both are counted in steps, or in units if steps contain units.
    """

    def __init__(self) -> None:
        self.policy: Policy | None = None  # in force
        self.grid, self.landmarks = Grid(1, 0), NO_LANDMARKS
        self.met = 0
        self.first_ms = self.newest_ms = -1  # of all events; -1 if none
        self.events = 0  # steps with an event
        self.gap_ms = 0  # shortest gap between steps with events; 0 if fewer than two
        self.reach_ms: tuple[int, int] | None = None  # span of known landmarks
        self._over = 0  # landmark steps of earlier versions
        self._newest = -1  # the newest step with an event
        self._first_open = 0  # first step that may still get an event
        self._seen = 0  # bits of the steps from `_first_open` on with an event

    @property
    def steps(self) -> int:
        """The number of landmark steps, each counted once across versions."""
        return self._over + len(self.landmarks)

    def begin(self, policy: Policy) -> None:
        """Begin a version; past landmarks of the previous version stay counted."""
        self._over += self.landmarks.count_before(self._first_open)
        if policy.grid != self.grid:
            self._newest = policy.grid.index_of(self.newest_ms) if self.events else -1
            self._seen = self._first_open = 0
        self.met -= sum(step in self.landmarks for step in self._steps_seen())
        self.policy, self.grid, self.landmarks = policy, policy.grid, policy.landmarks
        self.met += sum(step in self.landmarks for step in self._steps_seen())
        if self.events:
            self._close_before(self._first_open_after(self.newest_ms))
        self._reach(policy.landmarks)

    def _steps_seen(self) -> Iterator[int]:
        """Yield the steps that have an event and may still be open."""
        return (self._first_open + nth for nth in range(self._seen.bit_length()) if self._seen >> nth & 1)

    def _reach(self, landmarks: LandmarkSet) -> None:
        intervals = landmarks.intervals
        if intervals:
            found = self.grid.span_of((intervals[0][0], intervals[-1][1]))
            before = self.reach_ms or found
            self.reach_ms = min(before[0], found[0]), max(before[1], found[1])

    def _close_before(self, step: int) -> None:
        """Record that steps before ``step`` (a step of the policy) no longer accept events."""
        first_open = step if self.policy is None else step * (self.policy.step_ms // self.grid.length_ms)
        if first_open > self._first_open:
            self._seen >>= first_open - self._first_open
            self._first_open = first_open

    def _first_open_after(self, timestamp_ms: int) -> int:
        """Return the first of the policy's steps that may still be open after an event."""
        if self.policy is None:
            return self.grid.index_of(timestamp_ms) + 1
        return self.policy.first_open_after(self.policy.index_of(timestamp_ms))

    def add(self, spans: Iterable[int | Interval]) -> None:
        """Register landmarks, except those of past steps, because it is unknown whether those had an event."""
        added, first_open = aligned(spans, self.grid.length_ms, self.grid.origin_ms), self._first_open
        following = LandmarkSet.of((max(first, first_open), end) for first, end in added.intervals if end > first_open)
        self.met += sum(step in following and step not in self.landmarks for step in self._steps_seen())
        self.landmarks = self.landmarks.union(following)
        self._reach(following)

    def event(self, timestamp_ms: int) -> None:
        """Register an event; a late event, or another event in the same step, changes no count."""
        step = self.grid.index_of(timestamp_ms)
        if step < self._first_open:
            return
        self.first_ms = timestamp_ms if self.first_ms < 0 else min(self.first_ms, timestamp_ms)
        self.newest_ms = max(self.newest_ms, timestamp_ms)
        if self._seen >> (step - self._first_open) & 1:
            return
        self.met += step in self.landmarks
        self.events += 1
        if step > self._newest:
            gap_ms = (step - self._newest) * self.grid.length_ms if self.events > 1 else 0
            self.gap_ms = min(self.gap_ms or gap_ms, gap_ms)
            self._newest = step
        self._close_before(self._first_open_after(timestamp_ms))
        if step >= self._first_open:
            self._seen |= 1 << step - self._first_open

    def watermark(self, timestamp_ms: int) -> None:
        """Process a watermark, which closes every step that ends at or before it."""
        if self.policy is not None and self.policy.takes_several:
            self._close_before(self.policy.index_of(timestamp_ms))


class LandmarksMet:
    """Counts the landmark steps that have an event, over all series, as events are sent or a ledger is read.

    PRIVACY: whether a step has an event is a public fact, which releases show (docs/guarantee.md). With dummies, it is
    secret which landmarks are true: a policy has no landmarks until they are drawn, and a ledger has the drawn ones.
    """

    def __init__(self, defaults: Sequence[DefaultPolicy] = (), said: Callable[[int], str] = moment_in_words) -> None:
        """``said`` formats a timestamp given in ms."""
        self._said = said
        self._defaults = [default for default in defaults if not default.view]
        self._series: dict[str, _Series] = {}
        self._views = set[str]()

    def _of(self, name: str) -> _Series:
        found = self._series.get(name)
        if found is None:
            found = self._series[name] = _Series()
            default = next((each for each in self._defaults if fnmatchcase(name, each.glob)), None)
            if default is not None:
                found.begin(default.policy)
        return found

    def sent(self, events: Iterable[bytes]) -> Iterator[bytes]:
        """Count each record to be sent, then yield it."""
        for event in events:
            match wire.decode(event):
                case Observation(series=series, timestamp_ms=at) | Contribution(series=series, timestamp_ms=at):
                    self._of(series).event(at)
                case PolicyRecord() as found:
                    self._adopt(found)
                case LandmarksRecord(series=series, add=add):
                    self._of(series).add(add)
                case Watermark(series=series, timestamp_ms=at):
                    self._of(series).watermark(at)
                case _:
                    pass
            yield event

    def _adopt(self, record: PolicyRecord) -> None:
        try:
            policy = policy_of(record.parameters, record.version)
        except PolicyError:
            return  # a worker will reject it
        self._of(record.series).begin(policy)

    def taken(self, series: str, timestamp_ms: int) -> None:
        """Count an accepted observation."""
        self._of(series).event(timestamp_ms)

    def written(self, found: Mapping[str, Any]) -> None:
        """Process a ledger entry; a view has the landmarks of its base, which count once."""
        name = found["series"]
        if found.get("view"):
            self._views.add(name)
        if name in self._views:
            return
        series = self._of(name)
        match found["entry"]:
            case "release" if series.policy is not None and series.policy.collect is not None:
                series.event(found["timestamp"])
            case "policy":
                series.begin(_stored(wire.dump(found["parameters"]), found["policy"]))
            case "landmarks":
                series.add(_spans(found["add"]))
            case _:
                pass

    def document(self) -> Mapping[str, int]:
        """Return the counts as JSON fields, or no fields if no landmark is known."""
        steps, met = (sum(getattr(each, name) for each in self._series.values()) for name in ("steps", "met"))
        return {"landmark_steps": steps, "landmark_steps_met": met} if steps else {}

    @property
    def missed(self) -> list[str]:
        """The series that have landmarks and events, but no event in a landmark step.

        If no series has an event in a landmark step, series without events are included: their names may be wrong.
        """
        series = self._series.values()
        if not any(each.events for each in series):
            return []
        none = not any(each.met for each in series)
        return [name for name, each in self._series.items() if each.steps and not each.met and (none or each.events)]

    @property
    def sentence(self) -> str:
        """The counts in words, and the series whose landmark steps had no event.

        The text is empty if no landmark is known or there was no event.
        """
        counts = self.document()
        if not counts or not any(each.events for each in self._series.values()):
            return ""
        met, steps = counts["landmark_steps_met"], counts["landmark_steps"]
        rules = [each.policy for each in self._series.values() if each.steps]
        noun = "units" if all(rule is not None and rule.units is not None for rule in rules) else "steps"
        told = f"{met:,} of {steps:,} landmark {noun} have an event"
        missed = self.missed
        if not missed:
            return told + self._reach([each for each in self._series.values() if each.steps])
        if sum(each.steps > 0 for each in self._series.values()) > 1:
            told += f"; none in {some_of(missed, 'series')}"
        reach = self._reach([self._series[name] for name in missed])
        return f"{told}{reach}; check time zones and units (milliseconds)" if reach else told

    def _reach(self, series: Sequence[_Series]) -> str:
        """Return the times of the events and of the landmarks of these series, in words."""
        reaches = [each.reach_ms for each in series if each.reach_ms is not None]
        if not reaches:
            return ""
        seen = [each for each in series if each.events] or [each for each in self._series.values() if each.events]
        events = min(each.first_ms for each in seen), max(each.newest_ms for each in seen)
        landmarks = min(start for start, _ in reaches), max(end for _, end in reaches)
        return ": the events are from {} to {}, and the landmarks are from {} to {}".format(
            *map(self._said, events + landmarks)
        )

    def step_sentence(self, duplicates: int) -> str:
        """Return a warning that a step looks too long or too short for its events, or "" if it does not.

        ``duplicates`` is the number of records for a step that already had a record.
        """
        seen = {name: each for name, each in self._series.items() if each.events}
        if duplicates and seen and all(each.events == 1 for each in seen.values()):
            name, found = next(iter(seen.items()))
            step = f"one step of {duration_in_words(found.grid.length_ms)}"
            return f"all events of {name} fall into {step}; the step is given in milliseconds and may be too long"
        for name, found in seen.items():
            if len(found.landmarks) > found.met and found.gap_ms >= FAR_APART * found.grid.length_ms:
                step, gap = duration_in_words(found.grid.length_ms), duration_in_words(found.gap_ms)
                kept = f"budget is reserved for {found.steps:,} landmark steps, and {found.met:,} of them have an event"
                return (
                    f"a step of {name} lasts {step}, but its events are {gap} apart: {kept}; the step may be too short"
                )
        return ""


@lru_cache(maxsize=256)
def _stored(parameters: bytes, version: int) -> Policy:
    """Return the policy in a ledger entry, cached because most series share one."""
    found: Any = wire.load(parameters)
    return stored_policy_of(found, version)


def _spans(written: Iterable[Any]) -> Iterator[int | Interval]:
    """Yield landmarks written in the form that records use."""
    yield from (each if isinstance(each, int) else (each[0], each[1]) for each in written)
