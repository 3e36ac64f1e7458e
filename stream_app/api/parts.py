"""The typed parts of a policy: value kinds, schemes, and how readings, contributors and dummies come into it.

Each is frozen, has the names and the defaults of the policy record, and is checked where a `Policy` is made of it.
Whatever is left at its default is left out of the record.
"""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from datetime import date, datetime, timedelta
from typing import Any, ClassVar, Literal

from stream_app.api.given import Error, in_json, is_missing, is_text, milliseconds_of, unboxed
from stream_app.calendar.localtime import milliseconds

__all__ = [
    "Adaptive",
    "Balanced",
    "Bounds",
    "BudgetAbsorption",
    "BudgetDistribution",
    "Category",
    "Choice",
    "Collect",
    "Counts",
    "Drawn",
    "Location",
    "Number",
    "Padding",
    "Range",
    "Skip",
    "Uniform",
    "Vector",
    "Within",
]
Time = int | str | date
"""A moment: milliseconds since 1970-01-01 UTC, ISO 8601, a datetime with a zone, or a day of the policy's zone."""


class Part:
    """A part of a policy; ``NAMED`` is the member that says which one it is, and its value there."""

    NAMED: ClassVar[tuple[str, str] | None] = None

    def record(self) -> dict[str, Any]:
        """Return the part as the policy record has it."""
        named = dict((self.NAMED,)) if self.NAMED else {}
        members = ((field, plain(getattr(self, field.name), field.name)) for field in fields(self))  # type: ignore[arg-type]
        return named | {field.name: value for field, value in members if value != field.default}


def plain(value: Any, member: str) -> Any:
    """Return a value as JSON has it; raises `Error` for a time without a zone, and for what no record holds."""
    value = unboxed(value)
    if isinstance(value, Part):
        return value.record()
    if isinstance(value, datetime):
        return moment_ms(value, member)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return milliseconds_of(value, member)
    if isinstance(value, Mapping):
        return {name: plain(each, f"{member}.{name}") for name, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [plain(each, f"{member}.{nth}") for nth, each in enumerate(value)]
    if isinstance(value, int):
        return in_json(value)
    if value is None or isinstance(value, float) or (isinstance(value, str) and is_text(value)):
        return value
    remedy = "use numbers, strings, times with a zone, lists, or (start, end) for an interval"
    raise Error.of(member, f"is of type {type(value).__name__}, which a policy cannot contain; {remedy}")


def moment_ms(moment: datetime, member: str) -> int:
    """Return the milliseconds of a datetime; raises `Error` for one without a zone, and for NaT."""
    if is_missing(moment):
        raise Error.of(member, "has no time; use a datetime with a zone, or omit it")
    if moment.utcoffset() is None:
        remedy = "is a time without a zone; add a zone, as in datetime(2026, 1, 31, 8, tzinfo=ZoneInfo('Europe/Paris'))"
        raise Error.of(member, remedy)
    return milliseconds(moment)


@dataclass(frozen=True, slots=True)
class Range(Part):
    """The grid of a part of a `Vector`."""

    lower: float
    upper: float
    resolution: float


@dataclass(frozen=True, slots=True)
class Number(Part):
    """Numbers within ``lower .. upper`` on a grid of ``resolution``, all in the value's unit."""

    NAMED = "kind", "number"
    lower: float
    upper: float
    resolution: float
    _: KW_ONLY
    sensitivity: float | None = None
    clamp: bool = True
    invalid: float | Literal["reject"] = "reject"


@dataclass(frozen=True, slots=True)
class Counts(Part):
    """Counts of items by key; ``sensitivity`` is how many items neighbours differ in."""

    NAMED = "kind", "counts"
    keys: Sequence[str]
    _: KW_ONLY
    sensitivity: int = 1
    clamp: bool = True


@dataclass(frozen=True, slots=True)
class Bounds(Part):
    """A box in degrees."""

    south: float
    west: float
    north: float
    east: float


@dataclass(frozen=True, slots=True)
class Location(Part):
    """Positions; those up to ``radius`` metres apart are hidden among each other, on a lattice of ``resolution``."""

    NAMED = "kind", "location"
    radius: float
    resolution: float
    bounds: Bounds
    _: KW_ONLY
    clamp: bool = True


@dataclass(frozen=True, slots=True)
class Category(Part):
    """One of a few texts or booleans."""

    NAMED = "kind", "category"
    categories: Sequence[str | bool]
    _: KW_ONLY
    clamp: bool = True
    invalid: str | bool = "reject"


@dataclass(frozen=True, slots=True)
class Vector(Part):
    """Several numbers of one moment, by name."""

    NAMED = "kind", "vector"
    parts: Mapping[str, Range]
    _: KW_ONLY
    clamp: bool = True
    invalid: Mapping[str, float] | Literal["reject"] = "reject"


@dataclass(frozen=True, slots=True)
class Choice(Part):
    """The item that most contributors named; needs `Collect`."""

    NAMED = "kind", "choice"
    items: Sequence[str]


Kind = Number | Counts | Location | Category | Vector | Choice


@dataclass(frozen=True, slots=True)
class Uniform(Part):
    """The same share for every step."""

    NAMED = "name", "uniform"


@dataclass(frozen=True, slots=True)
class Adaptive(Part):
    """Publishes as often as earlier releases moved."""

    NAMED = "name", "adaptive"
    _: KW_ONLY
    increase: float = 0.5
    decrease: float = 0.5
    minimum: float = 0.1


@dataclass(frozen=True, slots=True)
class Skip(Part):
    """Spends nothing on landmarks, which shows where they are: ``accept_risk`` has to say so."""

    NAMED = "name", "skip"
    _: KW_ONLY
    accept_risk: bool = False


@dataclass(frozen=True, slots=True)
class Balanced(Part):
    """A share of epsilon for the regular steps, the rest split over the landmarks; with 1 these are not published."""

    NAMED = "name", "balanced"
    _: KW_ONLY
    regular_share: float = 0.5


@dataclass(frozen=True, slots=True)
class BudgetDistribution(Part):
    """Scheme BD, over windows."""

    NAMED = "name", "bd"
    _: KW_ONLY
    increase: float = 0.5
    decrease: float = 0.5
    minimum: float = 0.1
    dissimilarity: Literal["released", "private"] = "released"


@dataclass(frozen=True, slots=True)
class BudgetAbsorption(Part):
    """Scheme BA, over windows."""

    NAMED = "name", "ba"
    _: KW_ONLY
    increase: float = 0.5
    decrease: float = 0.5
    minimum: float = 0.1
    dissimilarity: Literal["released", "private"] = "released"


Scheme = Uniform | Adaptive | Skip | Balanced | BudgetDistribution | BudgetAbsorption


@dataclass(frozen=True, slots=True)
class Within(Part):
    """Several readings of one step become its one event."""

    within: Literal["last", "sum", "mean", "max"]
    open_steps: int
    _: KW_ONLY
    absent: Any = None


@dataclass(frozen=True, slots=True)
class Collect(Part):
    """Items of contributors become counts, a sum, a mean or a choice, one a step."""

    neighbours: Literal["replace", "add-remove"]
    open_steps: int
    _: KW_ONLY
    intrusion_nano: int | None = None
    statistic: Literal["sum", "mean"] | None = None


@dataclass(frozen=True, slots=True)
class Drawn(Part):
    """Dummy landmarks between ``start`` and ``end``: one option of many, drawn by the exponential mechanism."""

    method: Literal["optimal", "heuristic", "partitioned"]
    start: Time
    end: Time
    _: KW_ONLY
    utility: Literal["proximity", "count"] = "proximity"
    fraction: float = 0.01


@dataclass(frozen=True, slots=True)
class Padding(Part):
    """Dummy landmarks between ``start`` and ``end``: each other step joins with a probability."""

    NAMED = "method", "padding"
    probability: float
    start: Time
    end: Time
