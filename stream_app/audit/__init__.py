"""The audit: checks a ledger on its own, by a second implementation of all its arithmetic.

It shares no code with what wrote the ledger and trusts no derived figure. Files, in the order in which a record passes:
`files`, `topic` and `follow` (where the bytes come from), `reader` with `form` (bytes to `entry` values), `chain`
(hashes, order, copies), `series` (one series over its policy versions), `terms` (what a policy promises), `books`
with `landmarks` and `share` (the arithmetic of a period), `succession` (what a version protects less than the one
before it), `exposure` (announced intrusions), `guarantee` (the theorem,
from the spends alone), `swift` (all of these for an entry that is what must come next), `releases` with `recent`
(releases against entries), `auditor` (all series), `report` (what came out), `inquiry` (one step, with `formula` and
`rate`) and its `explanation` (`walkthrough` is its text), `standing`, `curve` and `flow` (what is drawn of it), `plots`
on a `canvas`, `page` (the report as HTML). Every fault is a `Finding` with one of `CODES`;
what is none and should be known is a `remark`.
"""

from stream_app.audit.auditor import Auditor, check
from stream_app.audit.finding import CODES, Finding
from stream_app.audit.report import Report

__all__ = ["CODES", "Auditor", "Finding", "Report", "check"]
