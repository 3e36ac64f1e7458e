"""A mapping: where a file holds times, values and series, and how they are written."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, Literal
from zoneinfo import ZoneInfo

from stream_app.privacy.policy import Fault

SEPARATORS: Final = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
"""The characters that may separate columns, and their names in messages."""
HIGH: Final = frozenset({"high", "hi"})
LOW: Final = frozenset({"low", "lo"})
"""Words that sensors write for values beyond the ends of their range."""
UNITS: Final = {"s": Decimal(1_000), "ms": Decimal(1), "us": Decimal("0.001"), "ns": Decimal("0.000001")}
"""Units of numeric times, in milliseconds."""


class MappingError(ValueError):
    """Raised if a mapping cannot be used; ``faults`` lists everything that is wrong, by member."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(f"{fault.member}: {fault.message}" for fault in self.faults))


@dataclass(frozen=True, slots=True)
class Condition:
    """What a cell must or must not contain for its row to count."""

    column: str
    text: str
    equal: bool = True


@dataclass(frozen=True, slots=True)
class FileMapping:
    """Where a file holds its times and values; columns have the names that the file gives them."""

    timestamp_columns: tuple[str, ...] = ()
    """The time columns; if there are several, such as a date and a time, a space joins their cells."""
    value_columns: Mapping[str, str] = field(default_factory=dict)
    """The column of each part of a value. A value without parts has one column, under an empty name."""
    time_format: str | None = None
    """A `strptime` format, or the unit of numeric times; None means ISO 8601, or whole milliseconds."""
    zone: ZoneInfo | None = None
    """The zone of times without an offset; if None, such times are not allowed."""
    stamp: Literal["start", "end"] | None = None
    """Whether a time is the start or the end of its value's interval; None (not stated) means the start."""
    series: str | None = None
    series_column: str | None = None
    where: tuple[Condition, ...] = ()
    """Conditions that must all be met for a row to count."""
    single: tuple[str, ...] = ()
    """Columns whose text is the same in all counted rows of a series, such as a kind of measurement or a unit."""
    words: Mapping[str, Decimal] = field(default_factory=dict)
    """The numbers represented by words that replace a value."""
    missing: frozenset[str] = frozenset()
    """Texts that, in place of a value, mean that there is no value; rows with such a text are skipped."""
    multiply: Decimal | None = None
    differences: bool = False
    """Whether a value is a register reading, so that its growth since the previous row counts."""
    separator: str | None = None
    """None means the first of `SEPARATORS` that splits a line into fields that include the requested names."""
    decimal: Literal[".", ","] = "."
    no_header: bool = False
    """Whether no line names the columns; if so, their names are numbers starting from 1."""
    records: str | None = None
    """The dotted path of JSON records, or the element name of XML records."""

    @property
    def columns(self) -> tuple[str, ...]:
        """All requested columns, without repetition."""
        series = () if self.series_column is None else (self.series_column,)
        conditions = (condition.column for condition in self.where)
        named = (*self.timestamp_columns, *self.value_columns.values(), *series, *conditions, *self.single)
        return tuple(dict.fromkeys(named))

    def remedy_without(self, missing: Collection[str]) -> str:
        """Return what to do if a file lacks only columns of `single`, or "" if other columns are missing."""
        others = {*self.timestamp_columns, *self.value_columns.values(), self.series_column}
        others |= {condition.column for condition in self.where}
        if not missing or not set(missing) <= {*self.single} - others:
            return ""
        return "it distinguishes several sorts of reading; if the file has only one sort, add --single ''"

    def lacking(self) -> Iterator[Fault]:
        """Yield everything that every mapping needs but this mapping lacks."""
        if not self.timestamp_columns:
            yield Fault("timestamp_column", "is missing; specify the time column")
        if not self.value_columns:
            yield Fault("value_columns", "is missing; specify the value column, or one column per part")
        if self.series is None and self.series_column is None:
            yield Fault("series", "is missing; specify the series of all rows, or the series column")
