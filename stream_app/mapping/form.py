"""A mapping: where a file holds times, values and series, and how they are written."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, Literal
from zoneinfo import ZoneInfo

from stream_app.privacy.policy import Fault

SEPARATORS: Final = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
"""What may separate columns, and what a message calls it."""
HIGH: Final = frozenset({"high", "hi"})
LOW: Final = frozenset({"low", "lo"})
"""What sensors write beyond the ends of their range."""
UNITS: Final = {"s": Decimal(1_000), "ms": Decimal(1), "us": Decimal("0.001"), "ns": Decimal("0.000001")}
"""Units of numbers that are times, in milliseconds."""


class MappingError(ValueError):
    """A mapping that cannot be used; ``faults`` has everything that is wrong, by member."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(f"{fault.member}: {fault.message}" for fault in self.faults))


@dataclass(frozen=True, slots=True)
class Condition:
    """What a cell must hold for its row to count, or must not."""

    column: str
    text: str
    equal: bool = True


@dataclass(frozen=True, slots=True)
class FileMapping:
    """Where a file holds its times and values; columns are named as the file names them."""

    timestamp_columns: tuple[str, ...] = ()
    """The cells of several columns are joined by a space, such as a date and a time."""
    value_columns: Mapping[str, str] = field(default_factory=dict)
    """The column of each part of a value; a value without parts has one, whose name is empty."""
    time_format: str | None = None
    """Directives of `strptime`, or a unit of numbers; None: ISO 8601, or whole milliseconds."""
    zone: ZoneInfo | None = None
    """The zone of times without an offset; None: there may be none."""
    stamp: Literal["start", "end"] | None = None
    """Whether a time is the start or the end of the interval that its value is of; None: nobody said, so the start."""
    series: str | None = None
    series_column: str | None = None
    where: tuple[Condition, ...] = ()
    """Rows count that meet all of these."""
    single: tuple[str, ...] = ()
    """Columns that have one text in all rows of a series that count, such as the kind of a measurement or its unit."""
    words: Mapping[str, Decimal] = field(default_factory=dict)
    """Numbers that words in the place of a value stand for."""
    missing: frozenset[str] = frozenset()
    """Texts in the place of a value that say that there is none; their rows are skipped."""
    multiply: Decimal | None = None
    differences: bool = False
    """Whether a value is the reading of a register, of which the growth since the row before counts."""
    separator: str | None = None
    """None: the first of `SEPARATORS` under which a line holds the names that are asked for."""
    decimal: Literal[".", ","] = "."
    no_header: bool = False
    """Whether no line names the columns: their names are numbers from 1 on then."""
    records: str | None = None
    """Of JSON, the dotted path of the records; of XML, the name of their elements."""

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are asked for, each once."""
        series = () if self.series_column is None else (self.series_column,)
        conditions = (condition.column for condition in self.where)
        named = (*self.timestamp_columns, *self.value_columns.values(), *series, *conditions, *self.single)
        return tuple(dict.fromkeys(named))

    def remedy_without(self, missing: Collection[str]) -> str:
        """Return what to do where a file lacks columns that are in `single` alone; empty where others are missing."""
        others = {*self.timestamp_columns, *self.value_columns.values(), self.series_column}
        others |= {condition.column for condition in self.where}
        if not missing or not set(missing) <= {*self.single} - others:
            return ""
        return "it distinguishes several sorts of reading; if the file has only one sort, add --single ''"

    def lacking(self) -> Iterator[Fault]:
        """Yield what a mapping needs and this one has not."""
        if not self.timestamp_columns:
            yield Fault("timestamp_column", "is missing; specify the time column")
        if not self.value_columns:
            yield Fault("value_columns", "is missing; specify the value column, or one column per part")
        if self.series is None and self.series_column is None:
            yield Fault("series", "is missing; specify the series of all rows, or the series column")
