"""The share of the guaranteed epsilon used by the worst version of any series, computed from a ledger's entries."""

from collections.abc import Mapping
from typing import Any

from stream_app.words.amount import UsedBudget


class MostUsed:
    """Tracks the policy version that has used the largest share of its epsilon, as entries are written.

    The figures in an entry include that entry, and they never decrease within a version: ``landmark_spent_nano`` is S,
    and ``regular_peak_nano`` is the largest cost of another step or window. The last entry of a version therefore shows
    how much epsilon the version used.
    """

    def __init__(self) -> None:
        self.policies = 0
        """The number of policy versions of all series."""
        self._over: UsedBudget | None = None  # of replaced versions
        self._versions: dict[str, tuple[int, int]] = {}  # by series: current version, its budget
        self._used_nano: dict[str, int] = {}  # by series, of its current version

    @property
    def series(self) -> int:
        """The number of series with a policy."""
        return len(self._versions)

    def written(self, entry: Mapping[str, Any]) -> None:
        """Count the next entry of a ledger."""
        match entry["entry"]:
            case "release" | "landmarks":
                self._used_nano[entry["series"]] = entry["landmark_spent_nano"] + entry["regular_peak_nano"]
            case "policy":
                series: str = entry["series"]
                if series in self._versions:
                    self._over = self._worst(self._over, series)
                self.policies += 1
                self._versions[series], self._used_nano[series] = (entry["policy"], entry["budget_nano"]), 0
            case "dummies":
                self._used_nano[entry["series"]] = entry["charged_nano"]
            case _:
                pass

    @property
    def found(self) -> UsedBudget | None:
        """The version with the largest used share, or None if no series had a policy."""
        worst = self._over
        for series in self._versions:
            worst = self._worst(worst, series)
        return worst

    def _worst(self, than: UsedBudget | None, series: str) -> UsedBudget:
        """Return the usage of the series' current version, or ``than`` if that is worse."""
        version, budget_nano = self._versions[series]
        used = UsedBudget(series, version, self._used_nano[series], budget_nano)
        return used if than is None or used.worse(than) else than

    def document(self) -> dict[str, object]:
        """Return the result for JSON."""
        found = self.found
        return {} if found is None else {"used": found._asdict()}

    @property
    def sentence(self) -> str:
        """The result as a sentence, or "" if no series had a policy."""
        found = self.found
        return "" if found is None else found.sentence(self.series, versions=self.policies > self.series)
