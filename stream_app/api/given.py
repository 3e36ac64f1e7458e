"""Converts callers' values, numbers and file names to plain Python, and defines the library's only error."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from math import inf, isfinite, nan
from os import PathLike
from pathlib import Path
from typing import Any, Final

from stream_app.calendar.localtime import WrongTimesError
from stream_app.calendar.words import length_ms
from stream_app.files import unusable
from stream_app.privacy.policy import Fault, PolicyError
from stream_app.setup.keyfile import KeyFileError
from stream_app.setup.settings import InvalidSettingsError


class Error(ValueError):
    """An invalid call; ``faults`` lists each member, column or argument with its problem and the remedy."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(f"{fault.member}: {fault.message}" for fault in self.faults))

    @classmethod
    def of(cls, member: str, message: str) -> "Error":
        """Return an error with one fault."""
        return cls((Fault(member, message),))


@contextmanager
def told() -> Iterator[None]:
    """Turn the package's own errors into an `Error` that names their fields."""
    try:
        yield
    except PolicyError as error:
        raise Error(error.faults) from None
    except WrongTimesError as error:
        raise Error(Fault(wrong.member or "zone", wrong.message) for wrong in error.wrongs) from None
    except InvalidSettingsError as error:
        raise Error(Fault(problem.field, problem.message) for problem in error.problems) from None
    except KeyFileError as error:
        raise Error.of("key", str(error)) from None
    except OSError as error:
        raise Error.of(str(error.filename), f"{unusable(error)}; specify a usable file or folder") from None


_PYTHONS: Final = frozenset({str, bool, int, float, dict, list, type(None)})
LEAST_INTEGER: Final = -(2**63)
END_OF_INTEGERS: Final = 2**64
"""The exclusive upper bound of the integers that JSON readers keep exact; the smallest one is `LEAST_INTEGER`.

Readers turn all other integers into doubles.
"""


def unboxed(value: Any) -> Any:
    """Return a numpy, pandas or polars value as plain Python; arrays become lists.

    Decimals and fractions become doubles. A number thus becomes the same double as if its digits had been read from a
    file of events.
    """
    if type(value) in _PYTHONS:
        return value
    if isinstance(value, Decimal | Fraction):
        try:
            return float(value)
        except OverflowError:
            return inf
        except ValueError:  # a signalling NaN
            return nan
    if type(value).__module__ == "numpy" and value.dtype.kind in {"m", "M"}:
        value = value.astype(value.dtype.str[:3] + "[us]")  # otherwise nanoseconds become integers
    for name in ("tolist", "to_list"):
        if hasattr(value, name):
            found = getattr(value, name)()
            return found if type(found) is not type(value) else float(found)  # a long double keeps its type
    return value


def is_text(value: str) -> bool:
    """Return whether text can be encoded; text with a lone surrogate cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in value)


def in_json(number: int) -> int | float:
    """Return a whole number as JSON readers read it: a double if it is large, or infinity if too large for a double."""
    is_whole = LEAST_INTEGER <= number < END_OF_INTEGERS
    return number if is_whole else float(number) if abs(number) < _DOUBLES else inf


_DOUBLES: Final = 10**308


def is_missing(moment: datetime) -> bool:
    """Return whether a moment is missing, such as pandas' NaT, which does not equal itself."""
    return moment != moment  # noqa: PLR0124 - that is what tells it


def path_of(found: Any, member: str, instead: str) -> Path:
    """Return ``found`` as a path; for anything else, raise an `Error` that suggests ``instead``."""
    if isinstance(found, str | PathLike) and "\0" not in str(found) and is_text(str(found)):
        return Path(found)
    raise Error.of(member, f"is of type {type(found).__name__}, not a file or folder; use {instead}")


def whole(found: Any, member: str, instead: str, least: int = 1) -> int:
    """Return a whole number of at least ``least``; raise `Error` for anything else."""
    number = unboxed(found)
    if isinstance(number, timedelta):
        number = milliseconds_of(number, member)
    if isinstance(number, int) and not isinstance(number, bool) and number >= least:
        return number
    raise Error.of(member, f"is not a whole number of at least {least}; {instead}")


def length_of(found: Any, member: str) -> int:
    """Return a duration in milliseconds, at least 1; raise `Error` for anything else."""
    remedy = 'use text such as "5min", a timedelta such as timedelta(hours=1), or milliseconds'
    if isinstance(found, str):
        length = length_ms(found)
        if length is None:
            raise Error.of(member, f"is not a length of time; {remedy}")
        return length
    return whole(found, member, remedy)


def finite(found: Any, member: str, instead: str) -> float:
    """Return a finite number above 0; raise `Error` for anything else."""
    number = unboxed(found)
    if isinstance(number, int | float) and not isinstance(number, bool) and 0 < number <= _MOST and isfinite(number):
        return float(number)
    raise Error.of(member, f"is not a finite number above 0; {instead}")


_MOST: Final = 1e100


def milliseconds_of(length: timedelta, member: str) -> int:
    """Return a duration in milliseconds; raise `Error` for a fraction of a millisecond."""
    found, rest = divmod(length, timedelta(milliseconds=1))
    if rest:
        raise Error.of(member, "is not a whole number of milliseconds; round it")
    return found


def keyed(found: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a mapping with its names converted to text, omitting names that cannot be encoded."""
    return {str(name): each for name, each in found.items() if is_text(str(name))}
