"""The audit: checks a ledger on its own, by a second implementation of all its arithmetic.

It shares no code with what wrote the ledger and trusts no derived figure. Files, in the order in which a record passes:
`reader` (bytes to `entry` values), `chain` with `recent` (hashes, order, copies), `terms` (what a policy promises),
`books` with `landmarks` and `share` (the arithmetic of a period), `guarantee` (the theorem, from the spends alone),
`releases` (releases against entries), `auditor` (all of it, for all series), `report` and `picture` (what came out).
`topic` reads the records from Kafka. Every fault is a `Finding` with one of `CODES`.
"""

from stream_app.audit.auditor import Auditor, check
from stream_app.audit.finding import CODES, Finding
from stream_app.audit.report import Report

__all__ = ["CODES", "Auditor", "Finding", "Report", "check"]
