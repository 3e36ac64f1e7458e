"""How much of what was promised a ledger's entries say was used: of all versions of all series the worst."""

from collections.abc import Mapping
from typing import Any

from stream_app.words.amount import Used


class MostUsed:
    """Finds, while entries are written, the policy version of a series of whose epsilon the largest share is used.

    An entry's figures are those after it, and within a version they never fall: ``landmark_spent_nano`` is S, and
    ``regular_peak_nano`` the dearest other step or window. So the last entry of a version says what it used.
    """

    def __init__(self) -> None:
        self.policies = 0
        """Policy versions of all series."""
        self._over: Used | None = None  # of versions that others replaced
        self._versions: dict[str, tuple[int, int]] = {}  # by series, the one in force and its budget
        self._used_nano: dict[str, int] = {}  # by series, of its version in force

    @property
    def series(self) -> int:
        """How many series had a policy."""
        return len(self._versions)

    def written(self, entry: Mapping[str, Any]) -> None:
        """Take the next entry of a ledger."""
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
    def found(self) -> Used | None:
        """The version of which most was used; None where no series had a policy."""
        worst = self._over
        for series in self._versions:
            worst = self._worst(worst, series)
        return worst

    def _worst(self, than: Used | None, series: str) -> Used:
        """Return what a series used of its version in force, or ``than`` if that is worse."""
        version, budget_nano = self._versions[series]
        used = Used(series, version, self._used_nano[series], budget_nano)
        return used if than is None or used.worse(than) else than

    def document(self) -> dict[str, object]:
        """Return it for programs."""
        found = self.found
        return {} if found is None else {"used": found._asdict()}

    @property
    def sentence(self) -> str:
        """Say it; empty where no series had a policy."""
        found = self.found
        return "" if found is None else found.sentence(self.series, versions=self.policies > self.series)
