"""Row-stochastic matrices: what an adversary knows about the step between two timestamps.

In a backward matrix, row i is the distribution of the state before a timestamp at which the state is i; in a forward
matrix, it is the distribution of the state after it (Cao et al. 2017, definition 3). In JSON, either matrix is a list
of rows, or states and entries if most entries are zero.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum

import numpy as np
from numpy.typing import NDArray

MOST_STATES = 1_000
ROW_SUM_TOLERANCE = 1e-9  # above the rounding error of 1,000 probabilities written with 12 or more digits

LEAST_PROBABILITY = float(np.finfo(np.float64).smallest_normal)
"""Smallest probability except 0; below it, doubles lose digits and ratios leave their range."""


_PROBABILITIES = "use probabilities from 0 to 1"


class MatrixError(ValueError):
    """Rows that are not a transition matrix.

    ``row`` counts from 0; it is None if no single row is wrong.
    """

    def __init__(self, row: int | None, found: str, remedy: str) -> None:
        self.row = row
        self.found = found
        self.remedy = remedy
        place = "matrix" if row is None else f"row {row} (the first is 0)"
        super().__init__(f"{place}: {found}; {remedy}")


@dataclass(frozen=True, slots=True, eq=False)
class TransitionMatrix:
    """A checked matrix of 1 to `MOST_STATES` states; every row sums to 1 up to rounding."""

    rows: NDArray[np.float64] = field(repr=False)  # shape (states, states), read-only

    @classmethod
    def dense(cls, rows: Sequence[object]) -> "TransitionMatrix":
        """Return the matrix of these rows; raises `MatrixError` for the first row that is not a distribution."""
        states = checked_size(len(rows))
        for number, row in enumerate(rows):
            if not isinstance(row, list | tuple):
                raise MatrixError(number, "is no list", "use one list of probabilities per row")
            if len(row) != states:
                remedy = "a transition matrix is square: use one probability for each state"
                raise MatrixError(number, f"has {len(row)} entries, but the matrix has {states} rows", remedy)
            if not all(type(entry) in (float, int) for entry in row):
                raise MatrixError(number, "contains an entry that is not a number", _PROBABILITIES)
        return cls.of(np.array(rows, dtype=np.float64))

    @classmethod
    def sparse(cls, states: int, entries: Iterable[tuple[int, int, float]]) -> "TransitionMatrix":
        """Return the matrix that is zero except for ``entries`` (row, column, probability), counted from 0.

        Raises `MatrixError` like `dense`, and for an entry outside the matrix or given twice.
        """
        rows = np.zeros((checked_size(states),) * 2)
        seen: set[tuple[int, int]] = set()
        for row, column, probability in entries:
            if not (0 <= row < states and 0 <= column < states):
                remedy = f"use rows and columns from 0 to {states - 1}"
                raise MatrixError(row, f"has an entry in column {column}, outside the matrix", remedy)
            if (row, column) in seen:
                raise MatrixError(
                    row, f"has two entries in column {column}", "add them together, or omit one of the entries"
                )
            seen.add((row, column))
            rows[row, column] = probability
        return cls.of(rows)

    @classmethod
    def of(cls, array: NDArray[np.float64]) -> "TransitionMatrix":
        """Return the matrix of a square array; raises `MatrixError` like `dense`."""
        checked_size(len(array))
        rows = array.copy()
        for number, row in enumerate(rows):
            if not np.isfinite(row).all():
                raise MatrixError(number, "contains an entry that is not finite", _PROBABILITIES)
            if row.min() < 0:
                raise MatrixError(number, f"contains {row.min()}, which is below 0", _PROBABILITIES)
            if ((row > 0) & (row < LEAST_PROBABILITY)).any():
                least = f"{LEAST_PROBABILITY:.3g}"
                raise MatrixError(number, f"contains an entry between 0 and {least}", f"use 0, or at least {least}")
            total = fsum(row)
            if abs(total - 1) > ROW_SUM_TOLERANCE:
                raise MatrixError(number, f"sums to {total}, not 1", "divide its entries by their sum")
            rows[number] = row / total
        rows.flags.writeable = False
        return cls(rows)

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self.rows)


def checked_size(states: int) -> int:
    """Return ``states``; raises `MatrixError` if it is below 1 or above `MOST_STATES`."""
    if states < 1:
        raise MatrixError(None, "has no states", "use one row for each state")
    if states > MOST_STATES:
        raise MatrixError(None, f"has {states} states", f"use coarser states, at most {MOST_STATES}")
    return states


_SPARSE_SHARE = 0.25
"""Share of entries below which the sparse form, with three numbers per entry, is shorter."""


def matrix_of(document: object) -> TransitionMatrix:
    """Return the matrix given by rows, or by states and entries ``[row, column, p]``; raises `MatrixError`."""
    if isinstance(document, list):
        return TransitionMatrix.dense(document)
    if not isinstance(document, Mapping) or not document.keys() >= {"states", "entries"}:
        remedy = 'use a list of rows, or {"states": n, "entries": [[row, column, probability], ..]}'
        raise MatrixError(None, "is neither a list of rows nor an object with states and entries", remedy)
    states, entries = document["states"], document["entries"]
    if type(states) is not int:
        raise MatrixError(None, "states is not an integer", "use the number of states")
    if not isinstance(entries, list):
        raise MatrixError(None, "entries is not a list", "use [[row, column, probability], ..]")
    for nth, entry in enumerate(entries):
        if not isinstance(entry, list) or [type(part) for part in entry[:2]] != [int, int] or len(entry) != 3:
            raise MatrixError(None, f"entry {nth} is not [row, column, probability]", "use two integers and a number")
        if type(entry[2]) not in (float, int):
            raise MatrixError(entry[0], "contains an entry that is not a number", _PROBABILITIES)
    return TransitionMatrix.sparse(states, ((row, column, probability) for row, column, probability in entries))


def matrix_document(matrix: TransitionMatrix) -> object:
    """Return the shorter of a matrix's two forms, in full double precision."""
    rows, columns = matrix.rows.nonzero()
    if len(rows) >= _SPARSE_SHARE * matrix.states**2:
        return matrix.rows.tolist()
    entries = zip(rows.tolist(), columns.tolist(), matrix.rows[rows, columns].tolist(), strict=True)
    return {"states": matrix.states, "entries": [list(entry) for entry in entries]}
