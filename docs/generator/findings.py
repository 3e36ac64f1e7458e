"""The page of audit findings."""

from docs.generator.markdown import code, pages_top, sentence, table
from stream_app.audit import CODES
from stream_app.audit.finding import REMARKS, kind_of

TOP = """\
What `landmark-stream audit` reports: one finding a fault, with its code, the series and the sequence number of the
entry where it shows. One finding is enough for exit code 1. The `landmark_audit_findings_total` metric of
`audit --follow` counts them by code. [Auditing](../audit.md) says what to make of them.

What is wrong is one of two. *Promise*: more was spent than was promised to a series or a member, a bound that was
promised was raised, a step was decided again, which no sum counts, or a view spent on what its series protects
otherwise. *Books*: the ledger, its releases or its heads are not what a true worker writes, and the sums as they stand
keep the promise.

"""
REMARKED = """
## Remarks

What is no fault: a remark has the same members as a finding, and changes no exit code.

"""


def page() -> str:
    """Return the page: a row for each finding's code, then one for each remark's code."""
    rows = [(code(name), kind_of(name), sentence(meaning)) for name, meaning in CODES.items()]
    remarks = [(code(name), sentence(meaning)) for name, meaning in REMARKS.items()]
    found = TOP + table(("code", "wrong", "what it means"), rows) + REMARKED + table(("code", "what it means"), remarks)
    return pages_top("Audit findings", "stream_app/audit/finding.py and remark.py") + found
