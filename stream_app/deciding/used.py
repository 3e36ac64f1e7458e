"""How much of what was promised a ledger's entries say was used: of all versions of all series the worst."""

from typing import Any

from stream_app.formats import wire
from stream_app.words.amount import Used


class MostUsed:
    """Finds, while entries are written, the policy version of a series of whose epsilon the largest share is used.

    An entry's figures are those after it, and within a version they never fall: ``landmark_spent_nano`` is S, and
    ``regular_peak_nano`` the dearest other step or window.
    """

    def __init__(self) -> None:
        self.found: Used | None = None
        self.policies = 0
        """Policy versions of all series."""
        self._budgets: dict[str, int] = {}  # by series, of its version in force

    @property
    def series(self) -> int:
        """How many series had a policy."""
        return len(self._budgets)

    def written(self, value: bytes) -> None:
        """Take the next entry of a ledger."""
        entry: Any = wire.load(value)
        match entry["entry"]:
            case "policy":
                self.policies += 1
                self._budgets[entry["series"]] = entry["budget_nano"]
                used_nano = 0
            case "dummies":
                used_nano = entry["charged_nano"]
            case "release" | "landmarks":
                used_nano = entry["landmark_spent_nano"] + entry["regular_peak_nano"]
            case _:
                return
        series = entry["series"]
        used = Used(series, entry["policy"], used_nano, self._budgets[series])
        if self.found is None or used.worse(self.found):
            self.found = used

    def document(self) -> dict[str, object]:
        """Return it for programs."""
        return {} if self.found is None else {"used": self.found._asdict()}

    @property
    def sentence(self) -> str:
        """Say it; empty where no series had a policy."""
        return "" if self.found is None else self.found.sentence(self.series, versions=self.policies > self.series)
