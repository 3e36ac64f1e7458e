"""The largest loss and its limit in an audit, by literal sums; and which findings violate the guarantee."""

from typing import get_args

import orjson
import pytest
from hypothesis import HealthCheck, given, settings

from stream_app.audit.finding import CODES, LISTED, BoundedList, Code, Finding, kind_of
from stream_app.audit.report.page import SHOWN, page
from stream_app.audit.report.report import UNTOLD, Tally
from stream_app.audit.standing.inquiry import StandingInquiry
from stream_app.deciding.context import Context, Limits
from stream_app.words.amount import largest_loss, summed
from tests.audit.frauds.chains import conflicting, forked, inserted
from tests.audit.frauds.forged import Fraud
from tests.audit.histories import History, histories
from tests.audit.ways import audit
from tests.audit.written import LEDGERS, Written, seal, write
from tests.run import KEYS, Run, observation, policy
from tests.suite.speeds import scaled
from tests.used import literally_used, worst


@settings(max_examples=scaled(50), suppress_health_check=[HealthCheck.too_slow])
@given(histories())
def test_what_was_used_is_said_first_and_what_was_summed_last(history: History) -> None:
    """They are the second and the last line, and the same integers in the document."""
    report = audit(history.ledger, history.releases, history.lifetime_nano)
    literal, lines = literally_used(history.ledger), report.text().splitlines()
    steps = sum(b'"entry":"release"' in entry for entry in history.ledger)
    assert lines[-1] == summed(report.spent_nano, steps)
    assert report.document()["summed_nano"] == report.spent_nano
    assert "nano" not in report.text()
    if not literal:
        assert report.used is None
        assert report.document()["used"] is None
        return
    used, epsilon = worst(literal)
    assert lines[1].startswith(largest_loss(used, epsilon, whose="; ")[:-1])
    found = report.document()["used"]
    assert (found["used_nano"], found["epsilon_nano"]) == (used, epsilon)
    assert literal[found["series"], found["policy"]] == (used, epsilon)


def test_every_code_is_of_one_kind() -> None:
    """Codes that violate a guarantee are listed here again, by hand; all others are faults of the books."""
    assert set(get_args(Code)) == set(CODES)
    broken = {code for code in CODES if kind_of(code) == "promise"}
    decided_twice = {"step-order", "conflicting-duplicate", "fork", "signed-twice"}
    beside_a_base = {"view-landmarks", "view-protection"}
    assert broken == {"theorem", "lifetime", "claim", "member-cap", "cap-raised"} | decided_twice | beside_a_base


@pytest.mark.parametrize("twice", [inserted, conflicting, forked])
def test_a_step_that_is_decided_twice_breaks_the_promise(twice: Fraud) -> None:
    """This holds wherever it is in the ledger, because no sum counts its second measurement."""
    for fraud in twice(write(LEDGERS["event"])):
        report = audit(fraud.ledger)
        assert report.broken("promise"), report.counts
        assert report.text().splitlines()[1] != f"guarantee violated: {UNTOLD}"


def test_a_failing_audit_counts_by_code_the_theorem_first() -> None:
    """A raised spend breaks the promise and the books; the report says both, with the amount used."""
    written = write(LEDGERS["event"])
    perturbed = next(entry for entry in written.entries if entry["entry"] == "release" and "epsilon_nano" in entry)
    budget = perturbed["budget_nano"]
    perturbed["epsilon_nano"] = 3 * budget
    report = audit(written.lines())
    lines = report.text().splitlines()
    assert lines[0] == f"DOES NOT HOLD: {report.found} findings"
    assert lines[1] == "guarantee violated: theorem 1"
    assert lines[2].startswith("integrity errors: ")
    assert lines[3].startswith(largest_loss(3 * budget, budget, "at least ", "; ")[:-1])
    assert lines[4].startswith("theorem  home-7 #")
    assert next(iter(report.counts)) == "theorem"
    assert sum(report.counts.values()) == report.found
    document = report.document()
    assert document["counts"] == report.counts
    assert document["broken"] == {"promise": 1, "books": report.found - 1}


def test_wrong_books_alone_break_no_promise() -> None:
    """A missing entry."""
    written = write(LEDGERS["event"])
    del written.entries[2]
    report = audit(written.lines())
    assert not report.holds
    assert report.broken("promise") == 0
    assert report.text().splitlines()[1] == f"guarantee violated: {UNTOLD}"


def test_unknown_terms_break_no_promise_that_was_kept() -> None:
    """For a version from a later program release, nothing is judged by the previous version's epsilon."""
    run = Run(Context(KEYS, (), Limits(lifetime_nano=10**10)))
    user = {"level": "user", "length": 4}
    run.feed_all([policy("a", protection={"level": "event"}), observation("a", 1, 1.0)])
    run.feed_all([policy("a", version=2, protection=user), observation("a", 2, 1.0), observation("a", 3, 1.0)])
    run.feed_all([policy("a", version=3, protection=user), observation("a", 9, 1.0)])
    written = Written([orjson.loads(entry) for entry in run.ledger], [])
    written.entries[2]["parameters"]["protection"]["level"] = "a later one"
    lines = seal(written).lines()
    report = audit(lines, None, 10**10)
    assert report.counts == {"unknown-terms": 1}
    assert report.used == ("a", 1, 10**9, 10**9)
    assert report.largest_nano == 1_750_000_000, "what was spent counts over all versions, whatever was promised"
    inquiry = StandingInquiry("a", 10**10)
    inquiry.entries(lines)
    (one,) = inquiry.answer().series
    assert [version.used_nano for version in one.versions] == [10**9, 5 * 10**8, 25 * 10**7]


@pytest.mark.parametrize("others", [3, SHOWN + 5, LISTED + 7])
def test_all_that_breaks_a_promise_stands_in_report_and_page(others: int) -> None:
    """Only other findings are cut short, however many came first, and their number is given."""
    tally = Tally(BoundedList())
    for number in range(others):
        tally.add(Finding("share", "a", number + 1, "spends a different amount"))
    for number in range(SHOWN + 50):
        tally.add(Finding("theorem", f"s-{number}", 9, "landmarks and another step"))
    report = audit([])._replace(findings=tally.listed(), found=tally.findings.count, counts=tally.counted())
    shown = page(report, (), "")
    assert shown.count("guarantee violated: theorem</td>") == SHOWN + 50
    assert shown.count("integrity error: share</td>") == min(others, SHOWN)
    assert (f"<p>{others - SHOWN:,} further findings" in shown) == (others > SHOWN)
    assert list(report.counts.items()) == [("theorem", SHOWN + 50), ("share", others)]
