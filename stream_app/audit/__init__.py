"""The audit: checks a ledger on its own, by a second implementation of all its arithmetic.

It shares no code with what wrote the ledger and trusts no derived figure. Records come from `files` or `topic`;
`form` reads their bytes; `chain` checks hashes, order and copies; `series` follows one series over its policy
versions with the arithmetic of `books` (`fastpath` does both at once for an entry that is what must come next,
there too for a policy that opened other series); `releases` compares releases with entries, `heads` signed heads with
entries; `auditor` does so for all series; `report` says what came out, `explain` why one step was decided as it was.
Every fault is a `Finding` with one of `CODES`; what is no fault and should be known is a `remark`.
"""

from stream_app.audit.auditor import Auditor
from stream_app.audit.finding import CODES, Finding
from stream_app.audit.report.report import Report

__all__ = ["CODES", "Auditor", "Finding", "Report"]
