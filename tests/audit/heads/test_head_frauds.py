"""Eighteen sorts of fraud against a signed ledger: each is found, even if every hash was recomputed."""

import pytest

from stream_app.audit import CODES
from tests.audit.decided import stories
from tests.audit.heads.head_frauds import FRAUDS
from tests.audit.heads.ledger_frauds import Fraud
from tests.audit.heads.signed import Signer, Story, attest, tell_story
from tests.audit.ways import audit, codes

pytestmark = pytest.mark.slow


def test_the_true_story_holds() -> None:
    """The ledgers that frauds start from have no findings."""
    story = tell_story()
    report = attest(story.ledger(), story.sign(Signer()))
    assert report.findings == ()
    assert report.heads is not None
    assert report.heads.unsigned(report.entries) == len(story.ledger()) - sum(map(story.signed, story.written)) > 0


@pytest.mark.parametrize("fraud", FRAUDS, ids=lambda fraud: fraud.__name__)
def test_every_fraud_is_found(fraud: Fraud, ledgers: int) -> None:
    """At least one fitting code is found, but without heads none if the ledger was made plausible.

    `make long` checks all forgeries, `make test` every ninth one.
    """
    assert assert_found(fraud, tell_story(), every=max(1, 1_000 // ledgers)) > 0


@pytest.fixture(scope="module")
def decided(ledgers: int) -> list[Story]:
    """Return stories of series decided by the fold."""
    return stories(ledgers)


def test_decided_ledgers_hold(decided: list[Story]) -> None:
    """They have no findings as long as they are true."""
    assert all(attest(story.ledger(), story.sign(Signer())).holds for story in decided)


@pytest.mark.parametrize("fraud", FRAUDS, ids=lambda fraud: fraud.__name__)
def test_every_fraud_in_a_decided_ledger_is_found(fraud: Fraud, decided: list[Story]) -> None:
    """The same holds for ledgers decided by the fold; every 19th forgery of each story is checked."""
    assert sum(assert_found(fraud, story, every=19) for story in decided) >= 5


def assert_found(fraud: Fraud, story: Story, every: int = 1) -> int:
    """Check a sort's forgeries; return how many were found."""
    chosen = [shown for number, shown in enumerate(fraud(story)) if number % every == 0]
    for number, shown in enumerate(chosen):
        report = attest(shown.ledger, shown.heads)
        assert codes(report) & shown.codes, f"forgery {number}: found {report.findings}, not {shown.codes}"
        live = codes(attest(shown.ledger, shown.heads, late=True))
        assert live & shown.codes, f"forgery {number}: found {live} beside a worker, not {shown.codes}"
        if shown.plausible:
            assert audit(shown.ledger).findings == (), f"forgery {number} shows without heads"
    return len(chosen)


def test_there_are_enough() -> None:
    """There are over four hundred, and the first few of each sort show every code of the heads.

    The witness's code is in test_heads.py.
    """
    everything = [[*fraud(tell_story())] for fraud in FRAUDS]
    assert sum(map(len, everything)) >= 400
    few = (shown for sort in everything for shown in sort[:4])
    met = set().union(*(codes(attest(shown.ledger, shown.heads)) for shown in few))
    assert {code for code in CODES if code.startswith(("head-", "signed-", "malformed-head"))} <= met
