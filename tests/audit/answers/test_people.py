"""What a person is told about their series: no more than the books show, and nothing while they are wrong."""

import pytest

from stream_app.audit.answers.asked import for_a_person
from stream_app.audit.answers.sections import plain_of
from stream_app.audit.standing.inquiry import StandingInquiry
from tests.audit.answers.test_answers import audited
from tests.audit.books.test_members import person
from tests.audit.books.test_members import series as claiming
from tests.audit.written import LEDGERS, write


def test_a_person_is_told_no_more_than_the_books_can_show() -> None:
    """They are told about budgets, not noise, and that publication is permanent.

    What series elsewhere reveal is not counted.
    """
    for lines in (write(LEDGERS["uniform"]).lines(), person()):
        auditor, _ = audited(lines)
        for series in auditor.followed():
            if series.member:
                continue
            told = for_a_person(series, auditor.rules.members, None)
            assert "Whether the promise was kept" not in told
            assert (
                "No ledger can show that the noise is what the ledger says it is; the publisher is responsible for "
                "that."
            ) in told
            assert "What was published stays public, and its guarantee does not expire." in told
            outside = "outside these series" if auditor.rules.members.known else "in any other way"
            assert f"and what is published about you {outside} or about people near you." in told


def told_of(name: str, lines: list[bytes]) -> tuple[str, int]:
    """Return what `standing --plain` says about a name, and how many findings its answer has."""
    inquiry = StandingInquiry(name, None)
    inquiry.entries(lines)
    return "\n".join(paragraph for _, paragraph in plain_of(inquiry)), len(inquiry.answer().findings)


@pytest.mark.parametrize("fault", ["sibling", "cap", "unread", "unread at its end", "nobody's"])
def test_nothing_is_told_of_a_person_whose_books_are_wrong_anywhere(fault: str) -> None:
    """A paragraph says what all of a person's series reveal, so it relies on their chains and on the cap's."""
    true = person()
    assert "Values about you (p/glucose)" in told_of("p", true)[0]
    wrong = list(true)
    glucose = [place for place, line in enumerate(true) if b'"p/glucose"' in line]
    match fault:
        case "sibling":
            wrong[glucose[1]] = true[glucose[1]].replace(b'"epsilon_nano":5', b'"epsilon_nano":4')
        case "cap":
            wrong[0] = true[0].replace(b'"cap_nano":30', b'"cap_nano":90')
        case "unread":
            wrong[glucose[1]] = true[glucose[1]].replace(b'"entry":"release"', b'"entry":"release')
        case "unread at its end":
            wrong[glucose[-1]] = true[glucose[-1]][:-1]
        case _:
            wrong.append(b"{")
    assert wrong != true
    text, findings = told_of("p", wrong)
    assert "about you" not in text
    assert text.count("Do not tell the person anything yet: the ledger has ") == 2
    assert findings == len(audited(wrong)[0].finish().findings)


def test_what_cannot_be_read_counts_for_the_series_that_it_names() -> None:
    """Lines that name another series are another person's; lines that name none may be anyone's."""
    lines = person(claiming("q/glucose", 20))
    broken = [line[:-1] if b'"q/glucose"' in line and b'"close"' in line else line for line in lines]
    assert told_of("p", broken)[1] == 0
    assert told_of("q/glucose", broken)[1] == 1
    assert "the ledger has 1 fault here; run" in told_of("q/glucose", broken)[0]
