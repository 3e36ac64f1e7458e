"""Which of the series that a record was handed to refused it, as the rejects tell."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final, final

from stream_app.deciding.context import Context
from stream_app.deciding.rows import SeriesRow

WHOLE: Final = frozenset({"malformed", "misrouted", "future", "closed", "no-policy"})
"""Reasons for which a base refuses a record before any view is asked: then no view took it, though none says so."""
NONE: Final[Mapping[str, Sequence[str]]] = MappingProxyType({})
UNBEGUN: Final = frozenset({"member-cap", "budget-cap", "invalid-policy"})
"""Reasons for which a view cannot begin: it is told once."""


@final
class Refusals:
    """Rejects by the input that they came of; at first there are none."""

    def __init__(self, views: Mapping[str, Sequence[str]] = NONE) -> None:
        """Begin; ``views`` has the ids of views by base."""
        self._views: Final = views
        self._found: Final[dict[int, dict[str | None, str]]] = {}

    def add(self, offset: int, series: str | None, reason: str) -> None:
        """Take a reject of the record at an input offset."""
        self._found.setdefault(offset, {})[series] = reason

    def refused(self, offset: int, series: str, base: str) -> bool:
        """Return whether a series refused a record that its ``base``, maybe itself, was sent."""
        found = self._found.get(offset)
        return found is not None and (None in found or series in found or found.get(base) in WHOLE)

    def takers(self, offset: int, base: str) -> Iterator[str]:
        """Yield which series took a reading or a watermark, the base first; whether it was in time they tell."""
        targets = (base, *self._views.get(base, ()))
        yield from (series for series in targets if not self.refused(offset, series, base))

    def refused_by_all(self, offset: int, base: str, views: Iterable[str]) -> bool:
        """Return whether a base and all of its views refused a reading or a watermark."""
        return all(self.refused(offset, series, base) for series in (base, *views))

    def __len__(self) -> int:
        """Return of how many records there are rejects."""
        return len(self._found)

    def __contains__(self, offset: int) -> bool:
        return offset in self._found


def targets_of(rows: Mapping[str, SeriesRow], separator: str | None) -> dict[str, list[str]]:
    """Return the ids of all views that began, by those of their bases."""
    bases = (row for row in rows.values() if row.views.begun)
    return {base.series: [base.id_of(name, separator) for name in base.views.begun] for base in bases}


def may_tell_a_view(reason: str, timestamp_ms: int | None) -> bool:
    """Return whether a reject may say that a view cannot begin: one of a policy, which has no time, does not."""
    return reason in UNBEGUN and timestamp_ms is not None


def told_again(rows: Mapping[str, SeriesRow], rejects: Iterable[str], context: Context) -> dict[str, SeriesRow]:
    """Return the rows of bases whose views were refused, with these.

    ``rejects`` are the series of rejects that `may_tell_a_view`, in order. So whoever rebuilds the rows rejects no view
    a second time.
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
