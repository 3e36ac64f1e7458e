"""A course: what the worker's own decision spends on events that are made up, step after step.

Budgets depend on epsilon, landmarks and scheme, never on values, but for schemes that follow the data: those are run
at their two ends. So nothing is computed here a second time: each made-up event goes through `decision.decide`, under
a key that is no secret and a number in the place of the policy's kind, which moves no budget.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from stream_app.deciding.context import Context, DefaultPolicy
from stream_app.deciding.counters import Collection
from stream_app.deciding.decision import decide
from stream_app.deciding.outcome import Decided, Rejected
from stream_app.deciding.rows import SeriesRow
from stream_app.formats import wire
from stream_app.formats.records import InputRecord
from stream_app.outlook.horizon import Horizon
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.policy import policy_of
from stream_app.privacy.values import nano

PUBLIC = KeyRing("0" * 16, 0, bytes(32))  # no secret: what it draws stands for no value
STAND_IN = {"kind": "number", "lower": 0, "upper": 1, "resolution": 1}
_UNNEEDED = frozenset({"value", "filter", "collect", "correlation"})  # members of a policy that move no budget
_GATHERING = frozenset({"within", "open_steps", "absent"})
"""Members of `protection` that say what a step's value is, which moves none either: an event stands for readings."""

Watch = Callable[[], None]  # told of each event


class CourseError(ValueError):
    """An event that the policy would reject; ``reason`` is the code."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"an event of the horizon would be rejected as {reason}; begin elsewhere (--start)")


class Spend(NamedTuple):
    """What one step spends."""

    landmark: bool
    spend_nano: int  # of the measurement; 0: nothing is published
    cost_nano: int  # that, and what the decision itself cost where a private dissimilarity is paid for


def _loaded(entry: bytes) -> dict[str, Any]:
    found: Any = wire.load(entry)
    return dict(found)


class Course:
    """A policy over a horizon; each made-up series that runs over it tosses its own coins."""

    def __init__(
        self, parameters: Mapping[str, object], horizon: Horizon, rate: float | None = None, *, moving: bool = False
    ) -> None:
        """Take a policy's ``parameters``, of which `policy_of` takes all.

        With ``rate`` the sampling rate is set to it after every event, for schemes that have one and do not move it.
        The values stay the same, or jump over the whole range when ``moving``.
        """
        stood_in = {name: part for name, part in parameters.items() if name not in _UNNEEDED}
        protection: Any = parameters["protection"]
        stood_in["protection"] = {name: part for name, part in protection.items() if name not in _GATHERING}
        policy = policy_of({**stood_in, "value": STAND_IN, "filter": "none"}, 1)
        self._context = Context(PUBLIC, (DefaultPolicy("*", policy),))
        self._horizon = horizon
        self._rate_nano = None if rate is None else nano(rate)
        self._values = (0, 1) if moving else (0, 0)

    def run(self, series: str, watch: Watch) -> tuple[Spend, ...]:
        """Return what each event costs; another ``series`` tosses other coins.

        Raises:
            CourseError: if an event is rejected.
        """
        rows: dict[str, SeriesRow] = {}
        found: list[Spend] = []
        nothing = Collection(PUBLIC.secret)  # no collected data
        for number, timestamp in enumerate(self._horizon.timestamps()):
            event = wire.dump({"series": series, "timestamp": timestamp, "value": self._values[number % 2]})
            outcome = decide(self._context, rows.get, nothing, InputRecord("outlook", 0, number, 0, None, event))
            if isinstance(outcome, Rejected):
                raise CourseError(outcome.reason)
            assert isinstance(outcome, Decided), "an observation is decided or rejected"
            rows[series] = self._sampled(outcome.row)
            *earlier, entry = (_loaded(sealed.value) for sealed in outcome.entries)
            drawn_nano = sum(part["charged_nano"] for part in earlier)  # for dummies, by no event
            cost_nano = outcome.spent_nano - drawn_nano
            found.append(Spend(entry["landmark"], entry.get("epsilon_nano", 0), cost_nano))
            watch()
        return tuple(found)

    def _sampled(self, row: SeriesRow) -> SeriesRow:
        if self._rate_nano is None:
            return row
        return row.replaced(state=row.state.replaced(rate_nano=self._rate_nano))
