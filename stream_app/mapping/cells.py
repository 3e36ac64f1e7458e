"""The rows that a mapping selects from a file, and the numbers that the cells represent."""

import re
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final, NamedTuple

from stream_app.mapping.form import HIGH, LOW, FileMapping
from stream_app.plain import INTEGER

Cell = str | int | float | bool | None
"""A cell, without the spaces around it. In JSON it may be a number or a flag; None is a missing cell."""


class FileError(ValueError):
    """Raised if a file does not fit its mapping.

    ``number`` is the line or record number, or None if the fault is not in a single line or record.
    """

    def __init__(self, message: str, number: int | None = None) -> None:
        super().__init__(message)
        self.message, self.number = message, number

    def of(self, name: object) -> str:
        """Return the message, prefixed with the file's name and the line."""
        return f"{name}: {self.message}" if self.number is None else f"{name}:{self.number}: {self.message}"


class PickedCells(NamedTuple):
    """The requested cells of a row, in the order of ``FileMapping.columns``."""

    number: int  # of the row's last line, or of the record; from 1
    cells: Sequence[Cell]


class DatedRow(NamedTuple):
    """A row that counts and has a value."""

    number: int
    series: str | None
    stamp: int | datetime | None
    parts: Sequence[Cell]  # the cells of the value's parts, in the order of ``value_columns``


def text_of(cell: Cell) -> str:
    """Return the text of a cell, as a file would write it."""
    if isinstance(cell, str):  # nearly always
        return cell
    match cell:
        case None:
            return ""
        case bool():
            return "true" if cell else "false"
        case _:
            return str(cell)


NUMBER: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", re.ASCII)
"""A number with a decimal point."""
_BOTH: Final = re.compile(r"(?:geo:)?\s*([+-]?[0-9]+(?:\.[0-9]+)?)°?\s*[,; ]\s*([+-]?[0-9]+(?:\.[0-9]+)?)°?")
"""Two numbers in one cell, as in positions from phones."""
FIRST: Final = object()
"""Stands for the value at a register's first reading, for which no growth is known."""


class Numbers:
    """Turns the cells of a value into the value of an event."""

    def __init__(self, mapping: FileMapping) -> None:
        self._words, self._missing, self._multiply = mapping.words, mapping.missing, mapping.multiply
        self._comma, self._differences = mapping.decimal == ",", mapping.differences
        self._names = tuple(mapping.value_columns)
        self._exact = self._multiply is not None or self._differences
        self._shared = len(self._names) == 2 and len(set(mapping.value_columns.values())) == 1
        self._before: dict[str | None, dict[str, Decimal]] = {}

    def lacks(self, parts: Sequence[Cell]) -> bool:
        """Return whether any of the cells means that there is no reading."""
        return bool(self._missing) and any(text_of(cell) in self._missing for cell in parts)

    def value(self, series: str | None, parts: Sequence[Cell]) -> object:
        """Return the value of a row, or `FIRST` for the first reading of a register.

        Anything that is not a number is kept unchanged, so that the publishing decision rejects it with its reason.
        Raises `FileError` for a word that a sensor writes for values beyond the ends of its range, if the mapping gives
        no number for the word.
        """
        if self._shared and (shared := _BOTH.fullmatch(text_of(parts[0]))):
            parts = shared.groups()
        found = [self._number(cell) for cell in parts]
        if self._differences:
            grown = [self._growth(series, name, one) for name, one in zip(self._names, found, strict=False)]
            if FIRST in grown:
                return FIRST
            found = grown
        plain = [_plain(one) for one in found]
        return plain[0] if self._names == ("",) else dict(zip(self._names, plain, strict=False))

    def _number(self, cell: Cell) -> object:
        text = text_of(cell)
        if self._words and text in self._words:
            number = self._words[text]
            return number if self._multiply is None else number * self._multiply
        if not isinstance(cell, str):
            return Decimal(text) * (self._multiply or 1) if self._exact and type(cell) in {int, float} else cell
        # If the comma is the decimal mark, a point may separate thousands: text with a point is not a number.
        digits = text if not self._comma else "" if "." in text else text.replace(",", ".", 1)
        if NUMBER.fullmatch(digits):
            if self._exact:
                return Decimal(digits) * (self._multiply or 1)
            return int(digits) if INTEGER.fullmatch(digits) else float(digits)
        lower = text.lower()
        if lower in {"true", "false"}:
            return lower == "true"
        if lower in HIGH or lower in LOW:
            # PRIVACY: the message does not show which of the words it is.
            words = "--words High=400,Low=40"
            raise FileError(f"a value is a word such as High or Low; map each word to a number, as in {words}")
        return text

    def _growth(self, series: str | None, name: str, found: object) -> object:
        """Return how much a register grew since the previous row; return anything that is not a number unchanged."""
        if not isinstance(found, Decimal):
            return found
        registers = self._before.setdefault(series, {})
        before, registers[name] = registers.get(name), found
        return FIRST if before is None else found - before


def _plain(found: object) -> object:
    """Return a number as JSON writes it: whole numbers have no decimal point."""
    if not isinstance(found, Decimal):
        return found
    return int(found) if found == found.to_integral_value() and abs(found) < 10**18 else float(found)
