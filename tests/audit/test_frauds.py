"""Frauds of thirty sorts, at every place of every ledger written by hand: each one is found, and by its name."""

import pytest

from stream_app.audit import CODES, check
from tests.audit.frauds import FRAUDS, Fraud
from tests.audit.ways import audit, codes
from tests.audit.written import LEDGERS, write

ELSEWHERE = {"stale-duplicate", "unlisted", "witness"} | {
    code for code in CODES if code.startswith(("signed-", "head-", "malformed-head"))
}
"""Codes that take longer ledgers (test_chain.py, test_files.py) or signed heads (test_head_frauds.py)."""


@pytest.mark.parametrize("fraud", FRAUDS, ids=lambda fraud: fraud.__name__)
@pytest.mark.parametrize("name", LEDGERS)
def test_every_fraud_is_found(name: str, fraud: Fraud) -> None:
    """The verdict fails, and at least one of the codes that fit the fraud is among the findings."""
    for number, forged in enumerate(fraud(write(LEDGERS[name]))):
        report = audit(forged.ledger, forged.releases)
        assert not report.holds, f"forgery {number} was not found"
        assert codes(report) & forged.codes, f"forgery {number}: found {report.findings}, not {forged.codes}"


def test_there_are_enough_and_every_code_is_met() -> None:
    """At least 500 forgeries, and no code of the table that none of the first few of each sort shows."""
    everything = [[*fraud(write(text))] for text in LEDGERS.values() for fraud in FRAUDS]
    assert sum(map(len, everything)) >= 500
    few = (forged for sort in everything for forged in sort[:4])
    met = set().union(*(codes(check(forged.ledger, forged.releases)) for forged in few))
    assert met == CODES.keys() - ELSEWHERE
