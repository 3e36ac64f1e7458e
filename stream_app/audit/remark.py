"""What an audit reports besides faults: versions that protect less, wait for no window or miss a renewal, and keys.

None is a finding: the ledger holds. Old ledgers have such versions, unmarked, and a new key may be meant.
"""

from collections import Counter
from typing import Any, Final, Literal, NamedTuple

from stream_app.audit.finding import Kept

RemarkCode = Literal["weaker-marked", "weaker-unmarked", "unwaited", "unrenewed"]

REMARKS: Final[dict[RemarkCode, str]] = {
    "weaker-marked": "a policy version protects less together than the one before it, which its record and the "
    "setting `accept_weaker_policies` allowed",
    "weaker-unmarked": "a policy version protects less together than the one before it, and nothing says that this "
    "was allowed: a worker of a release that did not ask wrote it, or another program",
    "unwaited": "a policy version without windows spends while a window of an earlier version holds its step and one "
    "that this spent on, so that window may lose more than its epsilon: a release that did not wait wrote it",
    "unrenewed": "a policy version goes on behind a bound at which it was to begin again, though its series' claim or "
    "the lifetime given has room: `max_epsilon` or another lifetime forbade it then, or the worker did not do it",
}
"""Every code with its meaning."""


class Remark(NamedTuple):
    """Something that an auditor should know although it is no fault."""

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


class KeysUsed(NamedTuple):
    """The noise keys of a ledger, and where series went from one to another."""

    series: dict[str, int]  # by fingerprint, in how many series' chains it stands
    changes: tuple[KeyChange, ...] = ()  # the first of them
    changed: int = 0  # changes in all
    changed_series: int = 0

    @classmethod
    def of(cls, counted: Counter[str], changes: Kept[KeyChange], changed_series: int) -> "KeysUsed":
        """Return the keys by how many series used each, and the changes."""
        return cls(dict(sorted(counted.items())), tuple(changes.listed), changes.count, changed_series)

    def document(self) -> dict[str, Any]:
        """Return it as `--json` has it."""
        return {
            "used": self.series,
            "changed_series": self.changed_series,
            "changes": [change._asdict() for change in self.changes],
        }
