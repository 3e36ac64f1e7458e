"""The independent audit of a ledger, with a second implementation of all its arithmetic.

It shares no code with the writer of the ledger and trusts no derived figure. Records come from `files` or `topic`.
`form` parses their bytes. `chain` checks hashes, order and copies. `series` follows one series over its policy versions
with the arithmetic of `books`. `fastpath` does both at once for an entry that is exactly the expected one, and also for
an entry that opens a series in the same way as earlier ones. `releases` compares releases with entries, `heads`
compares signed checkpoints with entries, and `auditor` audits all series. `report` presents the result; `explain` says
why a step was published, repeated or suppressed. Every fault is a `Finding` with one of `CODES`; anything else worth
knowing is a `remark`.
"""

from stream_app.audit.auditor import Auditor
from stream_app.audit.finding import CODES, Finding
from stream_app.audit.report.report import Report

__all__ = ["CODES", "Auditor", "Finding", "Report"]
