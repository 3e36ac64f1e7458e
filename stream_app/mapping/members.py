"""The members of a mapping as people write them, and the shipped mappings.

The command line, the library and TOML files use the same names; a command-line option has `-` where a member has `_`.
"""

import csv
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from decimal import Decimal, InvalidOperation
from functools import cache
from importlib import resources
from typing import Any, Final
from zoneinfo import ZoneInfo

from stream_app.calendar.localtime import WrongTimesError, zone_of
from stream_app.mapping.form import HIGH, LOW, SEPARATORS, UNITS, Condition, FileMapping, MappingError
from stream_app.plain import NOT_UTF8, meant
from stream_app.privacy.policy import Fault

MOST_PLACES: Final = 20
"""The maximum number of digits before or after the decimal point of a factor."""
_SHIPPED: Final = resources.files("stream_app.mapping") / "shipped"
MEMBERS: Final = (
    "timestamp_column",
    *(each.name for each in fields(FileMapping) if each.name != "timestamp_columns"),
)
"""The members of a mapping as people write them."""


def mapping_of(given: Mapping[str, Any], base: FileMapping | None = None) -> FileMapping:
    """Return the mapping that ``given`` describes, based on ``base``.

    Raises `MappingError` with every fault. A member that is None counts as not given. The columns that ``base`` has in
    `single` also apply, unless `single` is given but empty. The conditions of ``base`` also apply, unless a given
    condition names the only text allowed in their column.
    """
    reader = _Reader(given)
    found = {
        each.name: value
        for each in fields(FileMapping)
        if (value := reader.read("timestamp_column" if each.name == "timestamp_columns" else each.name)) is not None
    }
    reader.end()
    if "series" in found:
        found["series_column"] = None
    elif "series_column" in found:
        found["series"] = None
    single = found.pop("single", None)
    if single is not None:
        kept = () if base is None or "" in single or not single else base.single
        found["single"] = tuple(dict.fromkeys((*kept, *filter(None, single))))
    if base is None:
        return FileMapping(**found)
    if "where" in found:
        chosen = {condition.column for condition in found["where"] if condition.equal}
        found["where"] = (*(each for each in base.where if each.column not in chosen), *found["where"])
    return replace(base, **found)


def shipped() -> dict[str, str]:
    """Return the name and purpose of each mapping that comes with the package."""
    files = sorted(_SHIPPED.iterdir(), key=lambda file: file.name)
    return {
        file.name.removesuffix(".toml"): file.read_text("utf-8").partition("\n")[0].lstrip("# ")
        for file in files
        if file.name.endswith(".toml")
    }


@cache
def shipped_mappings() -> Mapping[str, FileMapping]:
    """Return the mappings that come with the package, by name."""
    return {name: _mapping_in(name, (_SHIPPED / f"{name}.toml").read_text("utf-8")) for name in shipped()}


def read_mapping(name: str) -> FileMapping:
    """Return a shipped mapping by name, or the mapping in a TOML file; may raise `MappingError` or `OSError`."""
    known = shipped_mappings()
    if name in known:
        return known[name]
    if name.endswith(".toml"):
        try:
            with open(name, encoding="utf-8-sig") as file:  # noqa: PTH123 (a name that was typed)
                text = file.read()
        except UnicodeDecodeError:
            raise MappingError([Fault("mapping", f"{name} {NOT_UTF8}")]) from None
    else:
        message = f"unknown mapping {name}{meant(name, known)}; known mappings are {', '.join(known)}, and TOML files"
        raise MappingError([Fault("mapping", message)])
    return _mapping_in(name, text)


def _mapping_in(name: str, text: str) -> FileMapping:
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise MappingError([Fault("mapping", f"{name} is not valid TOML: {error}")]) from None
    except RecursionError:
        raise MappingError([Fault("mapping", f"{name} is nested too deeply; check the brackets")]) from None
    return mapping_of(found)


def names_of(text: str) -> list[str]:
    """Return the names in a comma-separated list, quoted as in CSV if a name contains a comma."""
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]


class _Reader:
    """Reads members one after another, and collects their faults."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = {name: value for name, value in given.items() if value is not None}
        unknown = [name for name in self._given if name not in MEMBERS]
        self._faults = [Fault(name, f"is not a member of a mapping{meant(name, MEMBERS)}") for name in unknown]

    def read(self, name: str) -> Any:
        """Return the value of a member, or None if it is not given or is invalid."""
        if name not in self._given:
            return None
        try:
            return getattr(self, f"_{name}", self._text)(self._given[name])
        except ValueError as error:
            self._faults.append(Fault(name, str(error)))
            return None

    def end(self) -> None:
        """Raise `MappingError` if anything was wrong."""
        if self._given.keys() >= {"series", "series_column"}:
            self._faults.append(Fault("series", "conflicts with series_column; use only one of them"))
        if self._faults:
            raise MappingError(self._faults)

    @staticmethod
    def _text(found: object) -> str:
        if not isinstance(found, str) or not found:
            raise ValueError("is not text")
        return found

    def _timestamp_column(self, found: object) -> tuple[str, ...]:
        names = [found] if isinstance(found, str) else found
        if not isinstance(names, list | tuple) or not names:
            raise ValueError("is not a column; use a column name, or a list of names whose cells are joined")
        return tuple(self._text(name).strip() for name in names)

    def _single(self, found: object) -> tuple[str, ...]:
        names = names_of(found) if isinstance(found, str) else found
        if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
            raise ValueError("is not a column; use a column name, a list of names, or '' for none")
        return tuple("" if name in {"''", '""'} else name.strip() for name in names)

    def _value_columns(self, found: object) -> dict[str, str]:
        if isinstance(found, Mapping):
            return {self._text(part): self._text(column).strip() for part, column in found.items()}
        names = names_of(found) if isinstance(found, str) else found
        if not isinstance(names, list | tuple) or not names:
            raise ValueError("is not a column name; use a column name, or PART=COLUMN for each part of the value")
        if len(names) == 1 and "=" not in names[0]:
            return {"": self._text(names[0])}
        pairs = [name.partition("=")[::2] if "=" in name else (name, name) for name in map(self._text, names)]
        columns = {self._text(part.strip()): self._text(column.strip()) for part, column in pairs}
        if len(columns) < len(pairs):
            raise ValueError("contains a part twice; specify one column per part")
        return columns

    def _time_format(self, found: object) -> str:
        text = self._text(found)
        if text not in UNITS and "%" not in text:
            raise ValueError(f"is not a time format; use strptime directives, as in %d/%m/%Y, or {_or(UNITS)}")
        if "%Z" in text:
            raise ValueError(
                "has a zone in letters (%Z), which is not supported; write the letters literally, and set the zone "
                "with `zone`"
            )
        if ("%I" in text) != ("%p" in text):
            raise ValueError("needs %I and %p together: hours from 1 to 12, and am or pm")
        return text

    def _zone(self, found: object) -> ZoneInfo:
        try:
            return zone_of(found)
        except WrongTimesError as error:
            raise ValueError(error.wrongs[0].message) from None

    def _stamp(self, found: object) -> object:
        return _one_of(found, ("start", "end"))

    def _decimal(self, found: object) -> object:
        return _one_of(found, (".", ","))

    def _separator(self, found: object) -> object:
        return _one_of("\t" if found in {"tab", "\\t"} else found, tuple(SEPARATORS), "tab")

    def _where(self, found: object) -> tuple[Condition, ...]:
        texts = [found] if isinstance(found, str) else found
        if not isinstance(texts, list | tuple) or not all(isinstance(text, str) and "=" in text for text in texts):
            raise ValueError("is not a condition; use COLUMN=TEXT or COLUMN!=TEXT, or a list of several conditions")
        conditions = []
        for text in texts:
            column, _, wanted = text.partition("=")
            equal = not column.endswith("!")
            conditions.append(Condition(column.removesuffix("!").strip(), wanted.strip(), equal))
        return tuple(conditions)

    def _words(self, found: object) -> dict[str, Decimal]:
        pairs = dict(found) if isinstance(found, Mapping) else _pairs(self._text(found))
        words = {str(word).strip(): _decimal(number) for word, number in pairs.items()}
        ends = {words[word] for word in words if word.lower() in HIGH}
        if ends & {words[word] for word in words if word.lower() in LOW}:
            raise ValueError("gives High and Low the same number; give each word its end of the sensor's range")
        return words

    def _missing(self, found: object) -> frozenset[str]:
        names = (names_of(found) or [""]) if isinstance(found, str) else found
        if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
            raise ValueError("is not a list of strings")
        return frozenset("" if name in {"''", '""'} else name.strip() for name in names)

    def _multiply(self, found: object) -> Decimal:
        factor = _decimal(found)
        if not 0 < abs(factor.adjusted()) + 1 <= MOST_PLACES or not factor:
            raise ValueError(f"is not a factor; use a number with at most {MOST_PLACES} places, as in 0.001")
        return factor

    def _differences(self, found: object) -> bool:
        return _flag(found)

    def _no_header(self, found: object) -> bool:
        return _flag(found)


def _pairs(text: str) -> dict[str, str]:
    pairs = [name.rpartition("=") for name in names_of(text)]
    if not all(mark for _, mark, _ in pairs):
        raise ValueError("is not a list of words; use TEXT=NUMBER, separated by commas")
    return {word: number for word, _, number in pairs}


def _decimal(found: object) -> Decimal:
    """Return an exact number; a float is converted by its printed digits."""
    try:
        number = Decimal(str(found).strip())
    except InvalidOperation:
        number = Decimal("nan")
    if isinstance(found, bool) or not number.is_finite():
        raise ValueError("is not a number; use digits and a point, as in 0.001")
    return number


def _flag(found: object) -> bool:
    if not isinstance(found, bool):
        raise ValueError("is neither true nor false")  # noqa: TRY004 (of a file)
    return found


def _one_of(found: object, known: tuple[str, ...], *more: str) -> object:
    if found not in known:
        raise ValueError(f"is not known; use {_or([*map(repr, known), *more])}")
    return found


def _or(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}"
