"""Shows which series refused a record that they received, based on the rejected records."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final, final

from stream_app.deciding.checks import CHECKS
from stream_app.deciding.context import Context
from stream_app.deciding.rows import SeriesRow

WHOLE: Final = frozenset({"closed", "no-policy", *(check.reason for check in CHECKS)})
"""Reasons why a base refuses a record before any view receives it, so that all views refuse it too."""
NONE: Final[Mapping[str, Sequence[str]]] = MappingProxyType({})
UNBEGUN: Final = frozenset({"member-cap", "budget-cap", "invalid-policy"})
"""Reasons why a view cannot begin; each refused view is reported once."""


@final
class Refusals:
    """Rejected records by input offset; empty at first."""

    def __init__(self, views: Mapping[str, Sequence[str]] = NONE) -> None:
        """Start empty; ``views`` maps bases to view ids."""
        self._views: Final = views
        self._found: Final[dict[int, dict[str | None, str]]] = {}

    def add(self, offset: int, series: str | None, reason: str) -> None:
        """Add a rejected record by its input offset."""
        self._found.setdefault(offset, {})[series] = reason

    def refused(self, offset: int, series: str, base: str) -> bool:
        """Return whether a series refused a record sent to its ``base``, which may be the series itself."""
        found = self._found.get(offset)
        return found is not None and (None in found or series in found or found.get(base) in WHOLE)

    def takers(self, offset: int, base: str) -> Iterator[str]:
        """Yield the series that did not reject a reading or watermark, base first; it may still be late there."""
        targets = (base, *self._views.get(base, ()))
        yield from (series for series in targets if not self.refused(offset, series, base))

    def refused_by_all(self, offset: int, base: str, views: Iterable[str]) -> bool:
        """Return whether a base and all of its views refused a reading or a watermark."""
        return all(self.refused(offset, series, base) for series in (base, *views))

    def __len__(self) -> int:
        """Return the number of input records that were rejected."""
        return len(self._found)

    def __contains__(self, offset: int) -> bool:
        return offset in self._found


def targets_of(rows: Mapping[str, SeriesRow], separator: str | None) -> dict[str, list[str]]:
    """Return the ids of all views that have begun, by the ids of their bases."""
    bases = (row for row in rows.values() if row.views.begun)
    return {base.series: [base.id_of(name, separator) for name in base.views.begun] for base in bases}


def may_tell_a_view(reason: str, timestamp_ms: int | None) -> bool:
    """Return whether a rejection may mean that a view cannot begin; a policy rejection has no timestamp."""
    return reason in UNBEGUN and timestamp_ms is not None


def told_again(rows: Mapping[str, SeriesRow], rejects: Iterable[str], context: Context) -> dict[str, SeriesRow]:
    """Return the rows of bases whose views were refused, with these refusals added.

    ``rejects`` contains, in order, the series of rejected records for which `may_tell_a_view` is true. With these
    refusals, a rebuild of the rows rejects no view twice.
    """
    found: dict[str, SeriesRow] = {}
    for series in rejects:
        name = context.base_of(series)
        base = None if name is None else found.get(name) or rows.get(name)
        if base is None or base.view or series in rows:
            continue
        view = context.views_of(base.series)[series].view
        if view not in base.views.refused:
            found[base.series] = replace(base, views=base.views.with_refused(view))
    return found
