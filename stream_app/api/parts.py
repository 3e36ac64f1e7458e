"""The typed parts of a policy: value kinds, schemes, and parts for readings, contributors and dummies.

Each part is frozen, uses the names and defaults of the policy record, and is checked when a `Policy` is created from
it. The record omits defaults.
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
"""A moment: ms since 1970-01-01 UTC, ISO 8601, a datetime with a zone, or a day in the policy's zone."""


class Part:
    """A part of a policy; ``NAMED`` is the name and value of the record member that identifies the part's type."""

    NAMED: ClassVar[tuple[str, str] | None] = None

    def record(self) -> dict[str, Any]:
        """Return the part in the form of the policy record."""
        named = dict((self.NAMED,)) if self.NAMED else {}
        members = ((field, plain(getattr(self, field.name), field.name)) for field in fields(self))  # type: ignore[arg-type]
        return named | {field.name: value for field, value in members if value != field.default}


def plain(value: Any, member: str) -> Any:
    """Return a value as JSON; raise `Error` for a time without a zone, or for anything a record cannot hold."""
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
    """Return a datetime in milliseconds; raise `Error` for NaT and for a datetime without a zone."""
    if is_missing(moment):
        raise Error.of(member, "has no time; use a datetime with a zone, or omit it")
    if moment.utcoffset() is None:
        remedy = "is a time without a zone; add a zone, as in datetime(2026, 1, 31, 8, tzinfo=ZoneInfo('Europe/Paris'))"
        raise Error.of(member, remedy)
    return milliseconds(moment)


@dataclass(frozen=True, slots=True)
class Range(Part):
    """The grid of one part of a `Vector`."""

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
    """Counts of items by key; ``sensitivity`` is the number of items in which neighbours differ."""

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
    """Positions on a lattice of ``resolution``; those up to ``radius`` metres apart are indistinguishable."""

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
    """Several named numbers measured at one moment."""

    NAMED = "kind", "vector"
    parts: Mapping[str, Range]
    _: KW_ONLY
    clamp: bool = True
    invalid: Mapping[str, float] | Literal["reject"] = "reject"


@dataclass(frozen=True, slots=True)
class Choice(Part):
    """The item that the most contributors chose; needs `Collect`."""

    NAMED = "kind", "choice"
    items: Sequence[str]


Kind = Number | Counts | Location | Category | Vector | Choice


@dataclass(frozen=True, slots=True)
class Uniform(Part):
    """Gives every step the same share of epsilon."""

    NAMED = "name", "uniform"


@dataclass(frozen=True, slots=True)
class Adaptive(Part):
    """Publishes more often if earlier releases changed."""

    NAMED = "name", "adaptive"
    _: KW_ONLY
    increase: float = 0.5
    decrease: float = 0.5
    minimum: float = 0.1


@dataclass(frozen=True, slots=True)
class Skip(Part):
    """Spends nothing on landmarks, which reveals where they are; requires ``accept_risk``."""

    NAMED = "name", "skip"
    _: KW_ONLY
    accept_risk: bool = False


@dataclass(frozen=True, slots=True)
class Balanced(Part):
    """Splits epsilon between regular steps and landmarks; a share of 1 leaves landmarks unpublished."""

    NAMED = "name", "balanced"
    _: KW_ONLY
    regular_share: float = 0.5


@dataclass(frozen=True, slots=True)
class BudgetDistribution(Part):
    """Budget distribution (BD), over windows."""

    NAMED = "name", "bd"
    _: KW_ONLY
    increase: float = 0.5
    decrease: float = 0.5
    minimum: float = 0.1
    dissimilarity: Literal["released", "private"] = "released"


@dataclass(frozen=True, slots=True)
class BudgetAbsorption(Part):
    """Budget absorption (BA), over windows."""

    NAMED = "name", "ba"
    _: KW_ONLY
    increase: float = 0.5
    decrease: float = 0.5
    minimum: float = 0.1
    dissimilarity: Literal["released", "private"] = "released"


Scheme = Uniform | Adaptive | Skip | Balanced | BudgetDistribution | BudgetAbsorption


@dataclass(frozen=True, slots=True)
class Within(Part):
    """Combines several readings of one step into a single event."""

    within: Literal["last", "sum", "mean", "max"]
    open_steps: int
    _: KW_ONLY
    absent: Any = None


@dataclass(frozen=True, slots=True)
class Collect(Part):
    """Combines contributors' items into counts, a sum, a mean or a choice, one per step."""

    neighbours: Literal["replace", "add-remove"]
    open_steps: int
    _: KW_ONLY
    intrusion_nano: int | None = None
    statistic: Literal["sum", "mean"] | None = None


@dataclass(frozen=True, slots=True)
class Drawn(Part):
    """Dummy landmarks from ``start`` to ``end``: the exponential mechanism draws one of many options."""

    method: Literal["optimal", "heuristic", "partitioned"]
    start: Time
    end: Time
    _: KW_ONLY
    utility: Literal["proximity", "count"] = "proximity"
    fraction: float = 0.01


@dataclass(frozen=True, slots=True)
class Padding(Part):
    """Dummy landmarks between ``start`` and ``end``: each other step becomes a dummy with some probability."""

    NAMED = "method", "padding"
    probability: float
    start: Time
    end: Time
