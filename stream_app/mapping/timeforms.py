"""The formats of cells that contain times."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final

DAYS: Final = (
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%d.%m.%Y",
    "%Y/%m/%d",
    "%m/%d/%y",
    "%d/%m/%y",
    "%Y%m%d",
)
_HOURS: Final = ("%H:%M:%S", "%H:%M", "%I:%M %p", "%I:%M:%S %p", "%H:%M:%S.%f")
_FORMATS: Final = (
    *(f"{day} {hour}" for day in DAYS for hour in _HOURS),
    "%Y%m%d%H%M%S",
    "%Y%m%d%H%M",
    "%Y-%m-%d %H:%M:%S %z",
    *DAYS,
)
_NEARLY_ALL: Final = 0.9
_LOOKED_AT: Final = 20
"""How many cells are used to choose candidate formats."""
_DIGITS: Final = {10: "s", 13: "ms", 16: "us", 19: "ns"}


def formats_of(cells: Sequence[str]) -> list[str]:
    """Return the formats that fit the most cells, if those formats fit nearly all cells; "" is ISO 8601."""
    if not cells:
        return []
    if all(cell.isascii() and cell.isdigit() and len(cell) in _DIGITS for cell in cells):
        return [_DIGITS[len(cells[0])]]
    if all(re.fullmatch(r"[0-9]{10}\.[0-9]+", cell) for cell in cells):
        return ["s"]
    likely = [form for form in ("", *_FORMATS) if any(_has_form(cell, form) for cell in cells[:_LOOKED_AT])]
    counts = {form: sum(_has_form(cell, form) for cell in cells) for form in likely}
    most = max(counts.values(), default=0)
    return [form for form, count in counts.items() if count == most >= _NEARLY_ALL * len(cells)]


def _has_form(cell: str, form: str) -> bool:
    if not form and (cell.isdigit() or len(cell) < len("2024-01-01")):
        return False
    try:
        found = datetime.fromisoformat(cell) if not form else datetime.strptime(cell, form)  # noqa: DTZ007 (a form)
    except ValueError:
        return False
    return found.year >= 1980


def is_hour(cell: str) -> bool:
    """Return whether a cell is only a time of day; its date is then in another column."""
    return re.fullmatch(r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?( ?[AaPp][Mm])?", cell) is not None


def has_offset(cell: str) -> bool:
    """Return whether a time ends with its offset from UTC."""
    return re.search(r"(Z|[+-][0-9]{2}:?[0-9]{2})$", cell) is not None
