"""Auditing on the fast path and in full; both must agree on every finding and figure."""

from collections.abc import Iterable, Sequence

from stream_app.audit import Auditor, Report

TURN = 3
"""Number of lines taken at a time, so few that turns end everywhere."""


class LongWay(Auditor):
    """An auditor without its fast path."""

    def entries(self, lines: Sequence[bytes]) -> None:
        """Take in lines of the ledger as if each came alone, after an unknown one."""
        for data in lines:
            self._in_full(data)


def audit(
    entries: Iterable[bytes], releases: Iterable[bytes] | None = None, lifetime_nano: int | None = None
) -> Report:
    """Return the report of a ledger; fail if the two ways differ."""
    ledger = list(entries)
    published = None if releases is None else list(releases)
    reports = []
    for way in (Auditor, LongWay):
        auditor = way(compare=published is not None, lifetime_nano=lifetime_nano)
        for place in range(0, max(len(ledger), len(published or ())), TURN):
            auditor.entries(ledger[place : place + TURN])
            if published is not None:
                auditor.releases(published[place : place + TURN])
        reports.append(auditor.finish())
    assert reports[0] == reports[1]
    return reports[0]


def codes(report: Report) -> set[str]:
    """Return the codes of all findings."""
    return {finding.code for finding in report.findings}
