"""What an audit tells besides faults: versions that protect less than the one before, and changes of the noise key.

Neither is a finding: the ledger holds. Old ledgers have unmarked weaker versions, and a new key may be meant.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

LISTED: Final = 10_000
"""Remarks and changes of a key kept in a report; further ones are counted."""

RemarkCode = Literal["weaker-marked", "weaker-unmarked"]

REMARKS: Final[dict[RemarkCode, str]] = {
    "weaker-marked": "a policy version protects less together than the one before it, which its record and the "
    "setting `accept_weaker_policies` allowed",
    "weaker-unmarked": "a policy version protects less together than the one before it, and nothing says that this "
    "was allowed: a worker of a release that did not ask wrote it, or another program",
}
"""Every code with its meaning."""


class Remark(NamedTuple):
    """Something that an auditor should know and that is no fault."""

    code: RemarkCode
    series: str
    sequence: int
    message: str


class KeyChange(NamedTuple):
    """An entry under another noise key than the entry before it in its series."""

    series: str
    sequence: int
    before: str  # fingerprints
    key: str


@dataclass(slots=True)
class Remarks:
    """Remarks and changes of keys while an audit runs; the first `LISTED` of each are kept, all are counted."""

    aside: Callable[[Remark | KeyChange], None] | None = None  # told of each at once
    kept: list[Remark] = field(default_factory=list)
    made: int = 0
    changes: list[KeyChange] = field(default_factory=list)
    changed: int = 0

    def add(self, remark: Remark) -> None:
        """Take in a remark."""
        self.made += 1
        if self.aside is not None:
            self.aside(remark)
        if len(self.kept) < LISTED:
            self.kept.append(remark)

    def rekey(self, change: KeyChange) -> None:
        """Take in a change of a series' key."""
        self.changed += 1
        if self.aside is not None:
            self.aside(change)
        if len(self.changes) < LISTED:
            self.changes.append(change)


class KeysUsed(NamedTuple):
    """The noise keys of a ledger, and where series went from one to another."""

    series: dict[str, int]  # by fingerprint, in how many series' chains it stands
    changes: tuple[KeyChange, ...] = ()  # the first of them
    changed: int = 0  # changes in all
    changed_series: int = 0

    @classmethod
    def of(cls, counted: Counter[str], remarks: Remarks, changed_series: int) -> "KeysUsed":
        """Return what an audit counted."""
        return cls(dict(sorted(counted.items())), tuple(remarks.changes), remarks.changed, changed_series)

    def document(self) -> dict[str, Any]:
        """Return it as `--json` has it."""
        return {
            "used": self.series,
            "changed_series": self.changed_series,
            "changes": [change._asdict() for change in self.changes],
        }
