"""Correlation files: the only reader of transition matrices in JSON, from `correlate` or written by hand."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from stream_app.files import unread
from stream_app.loss.correlation import Correlation, CorrelationError, correlation_of
from stream_app.loss.temporal import Adversary
from stream_app.plain import NOT_UTF8

_LONGEST_INTEGER = 18  # digits that fit 64 bits; longer numbers are read as doubles, which may be infinite


class CorrelationFileError(Exception):
    """Raised for a file without a valid correlation; the message names the file, matrix, row and remedy."""

    def __init__(self, path: Path, problem: str) -> None:
        self.path, self.problem = path, problem
        super().__init__(f"{path}: {problem}")


def load(path: Path) -> Correlation:
    """Return the correlation in a file, ignoring other fields; raise `CorrelationFileError` if it is invalid."""
    try:
        return correlation_of(decoded(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise CorrelationFileError(path, f"{unread(error)}; specify a file created by `correlate`") from None
    except UnicodeDecodeError:
        raise CorrelationFileError(path, NOT_UTF8) from None
    except (CorrelationError, ValueError) as error:
        raise CorrelationFileError(path, str(error)) from None


def adversary_of(
    file: Path | None, name: str | None, correlations: Callable[[], Mapping[str, Path]]
) -> tuple[Adversary | None, str]:
    """Return the adversary for a file's correlation or, without a file, a policy's; or say why there is none.

    ``correlations`` maps names to the configured files. Raises the same errors as `load`.
    """
    if file is None and name is not None:
        file = correlations().get(name)
        if file is None:
            return None, f"the configuration has no correlation {name!r}, so no temporal loss is predicted"
    return (None, "") if file is None else (load(file).adversary(), "")


def decoded(text: str) -> object:
    """Return the values in JSON text; raise `ValueError` if it is invalid.

    NaN and infinities are accepted, so that a message can name their row.
    """
    try:
        return json.loads(text, parse_int=_number)
    except json.JSONDecodeError as error:
        if not text.lstrip().startswith(("{", "[")):
            raise ValueError("is not valid JSON; write one object, in braces") from None
        at = f"line {error.lineno}, character {error.colno}"
        raise ValueError(f"is not valid JSON at {at}; check the commas, quotes and brackets there") from None
    except RecursionError:
        raise ValueError("is nested too deeply; write matrices as lists of rows") from None


def _number(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_INTEGER else float(digits)
