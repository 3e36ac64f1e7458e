"""Matrices and correlations as plain JSON values: dense as a list of rows, sparse as states and entries."""

from collections.abc import Mapping

from stream_app.loss.correlation import Correlation, CorrelationError
from stream_app.loss.matrix import MatrixError, TransitionMatrix

_SPARSE_SHARE = 0.25
"""With fewer entries than this share the sparse form, of three numbers an entry, is the shorter one."""


def matrix_of(document: object) -> TransitionMatrix:
    """Return the matrix that a document holds: ``[[..], ..]`` or ``{"states": n, "entries": [[row, column, p], ..]}``.

    Raises:
        MatrixError: with row and remedy, if it holds none.
    """
    if isinstance(document, list):
        return TransitionMatrix.dense(document)
    if not isinstance(document, Mapping) or not document.keys() >= {"states", "entries"}:
        remedy = 'write a list of rows, or {"states": n, "entries": [[row, column, probability], ..]}'
        raise MatrixError(None, "is neither a list of rows nor states and entries", remedy)
    states, entries = document["states"], document["entries"]
    if type(states) is not int:
        raise MatrixError(None, "states is no integer", "give how many states there are")
    if not isinstance(entries, list):
        raise MatrixError(None, "entries is no list", "write [[row, column, probability], ..]")
    for nth, entry in enumerate(entries):
        if not isinstance(entry, list) or [type(part) for part in entry[:2]] != [int, int] or len(entry) != 3:
            raise MatrixError(None, f"entry {nth} is not [row, column, probability]", "write two integers and a number")
        if type(entry[2]) not in (float, int):
            raise MatrixError(entry[0], "holds an entry that is no number", "write probabilities, 0 to 1")
    return TransitionMatrix.sparse(states, ((row, column, probability) for row, column, probability in entries))


def matrix_document(matrix: TransitionMatrix) -> object:
    """Return the shorter of a matrix' two forms, in full double precision."""
    rows, columns = matrix.rows.nonzero()
    if len(rows) >= _SPARSE_SHARE * matrix.states**2:
        return matrix.rows.tolist()
    entries = zip(rows.tolist(), columns.tolist(), matrix.rows[rows, columns].tolist(), strict=True)
    return {"states": matrix.states, "entries": [list(entry) for entry in entries]}


def correlation_of(document: object) -> Correlation:
    """Return the correlation of a document's ``backward`` and ``forward``, null for none; others are ignored.

    Raises:
        CorrelationError: naming the direction and what is wrong with it.
    """
    if not isinstance(document, Mapping) or not document.keys() >= {"backward", "forward"}:
        raise CorrelationError('needs an object with "backward" and "forward", each a matrix or null')
    found: dict[str, TransitionMatrix | None] = {}
    for direction in ("backward", "forward"):
        try:
            found[direction] = None if document[direction] is None else matrix_of(document[direction])
        except MatrixError as error:
            raise CorrelationError(f"{direction}: {error}") from error
    return Correlation(found["backward"], found["forward"])
