"""Frauds against a signed ledger, of seventeen sorts: each one is found, also where every hash was computed anew."""

import pytest

from stream_app.audit import CODES, check
from tests.audit.head_frauds import FRAUDS, Fraud
from tests.audit.signed import Signer, attest, tell_story
from tests.audit.ways import codes


def test_the_true_story_holds() -> None:
    """Nothing is found in what the frauds begin with."""
    story = tell_story()
    report = attest(story.ledger(), story.sign(Signer()))
    assert report.findings == ()
    assert report.heads is not None
    assert report.heads.unsigned(report.entries) == len(story.ledger()) - sum(map(story.signed, story.written)) > 0


@pytest.mark.parametrize("fraud", FRAUDS, ids=lambda fraud: fraud.__name__)
def test_every_fraud_is_found(fraud: Fraud) -> None:
    """At least one of the codes that fit is found; without heads nothing is, where the ledger was made plausible."""
    for number, shown in enumerate(fraud(tell_story())):
        report = attest(shown.ledger, shown.heads)
        assert codes(report) & shown.codes, f"forgery {number}: found {report.findings}, not {shown.codes}"
        if shown.plausible:
            assert check(shown.ledger).findings == (), f"forgery {number} shows without heads"


def test_there_are_enough() -> None:
    """Over four hundred forgeries, and every code of the heads is met; that of the witness in test_heads.py."""
    everything = [shown for fraud in FRAUDS for shown in fraud(tell_story())]
    assert len(everything) >= 400
    met = set().union(*(codes(attest(shown.ledger, shown.heads)) for shown in everything))
    assert {code for code in CODES if code.startswith(("head-", "signed-", "malformed-head"))} <= met
