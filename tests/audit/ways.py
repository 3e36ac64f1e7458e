"""Auditing by both ways, the short and the long one, which must agree in every finding and figure."""

from collections.abc import Iterable

from stream_app.audit import Auditor, Report


class LongWay(Auditor):
    """An auditor without its short way."""

    def _swift(self, data: bytes) -> bool:
        return len(data) < 0


def audit(
    entries: Iterable[bytes], releases: Iterable[bytes] | None = None, lifetime_nano: int | None = None
) -> Report:
    """Return the report of a ledger; fails when the two ways differ."""
    ledger = list(entries)
    published = None if releases is None else list(releases)
    reports = []
    for way in (Auditor, LongWay):
        auditor = way(compare=published is not None, lifetime_nano=lifetime_nano)
        for place, line in enumerate(ledger):
            auditor.entry(line)
            if published is not None and place < len(published):
                auditor.release(published[place])
        for line in (published or ())[len(ledger) :]:
            auditor.release(line)
        reports.append(auditor.finish())
    assert reports[0] == reports[1]
    return reports[0]


def codes(report: Report) -> set[str]:
    """Return the codes of all findings."""
    return {finding.code for finding in report.findings}
