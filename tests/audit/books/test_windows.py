"""Windows in the audit: old ledgers, the effects of missing entries, and the theorem by spends only."""

import pytest

from stream_app.audit.books.intrusions import exposed_steps
from stream_app.audit.books.landmarks import LandmarkSet
from stream_app.audit.books.period import Books
from stream_app.audit.books.terms import TermsError, read_terms
from tests.audit.ways import audit, codes
from tests.audit.written import LEDGERS, parameters_of, releases_in, seal, write

UNIFORM = {"name": "uniform"}
AFTER = """
policy 1 {"epsilon": 1e-7, "scheme": {"name": "uniform"}, "level": "w-event", "window": 3}
 0 perturbed    . 33 | 0 0 33
 1 perturbed    . 33 | 0 0 66
policy 2 {"epsilon": 2e-8, "scheme": {"name": "uniform"}, "landmarks": [3000]}
"""


def test_single_steps_that_did_not_wait_are_remarked_once() -> None:
    """Releases from before the rule wrote such ledgers: they hold, and the reader is told a window's loss."""
    old = write(
        AFTER
        + """
 2 perturbed    . 10 | 0 1 10
 3 perturbed    L 10 | 10 0 10
 4 perturbed    . 10 | 10 0 10
"""
    )
    report = audit(old.lines(), old.release_lines())
    assert report.holds
    unwaited = report.remarks[1]
    assert (report.remarks[0].code, unwaited.code, unwaited.sequence) == ("weaker-unmarked", "unwaited", 5)
    assert unwaited.message == (
        "spends at 2000: until 4000, windows of an earlier version contain steps on which that version spent"
    )
    assert len(report.remarks) == 2


def test_a_wait_that_ends_early() -> None:
    """The theorem is violated, and so is the share, which is 0 while a version waits."""
    early = write(AFTER + "2 withheld . - | 0 1 0\n 3 perturbed L 20 | 20 0 0")
    assert codes(audit(early.lines())) == {"theorem", "share"}
    # Versions with windows always waited.
    windows = AFTER.replace('"landmarks": [3000]', '"landmarks": [3000], "window": 2')
    early = write(windows + "2 perturbed . 5 | 0 1 5")
    assert codes(audit(early.lines())) == {"theorem", "share"}


def test_the_wait_is_over_for_landmarks_and_others_at_once() -> None:
    """At 4, no window of the first version holds a step with a spend; the fast path continues from there."""
    waited = write(AFTER + "2 withheld . - | 0 1 0\n 4 perturbed . 20 | 0 0 20\n 5 perturbed . 20 | 0 0 20")
    assert audit(waited.lines(), waited.release_lines()).holds


HIDDEN = """
policy 1 {"epsilon": 1e-7, "scheme": {"name": "uniform"}, "window": 2}
 1 perturbed    . 50 |  0 0 50
landmarks [[50, 51]] 0 | 0 1 50
 2 approximated .  - |  0 1 50
 3 perturbed    . 25 |  0 1 50
 4 perturbed    . 25 |  0 1 50
 7 perturbed    . 25 |  0 1 50
landmarks [[3, 4]] %s | %s 1 50     at m = 50, of step 1
 8 perturbed    . 25 | %s 1 50
"""


@pytest.mark.parametrize(("charge", "found"), [(50, {"gap"}), (51, {"gap", "charge"}), (24, {"gap", "charge"})])
def test_a_charge_tells_what_missing_entries_spent(charge: int, found: set[str]) -> None:
    """A missing entry's spend on one step is known only by its bounds: at least that of the others, at most W."""
    written = write(HIDDEN % (charge, charge, charge))
    del written.entries[1]
    report = audit(written.lines())
    assert codes(report) - {"landmark-spent", "share", "theorem"} == found
    assert (codes(report) == found) is (charge == 50)


def test_missing_entries_are_the_only_finding() -> None:
    """This holds for any release decided there, in versions with landmarks and windows."""
    for name in ("joint", "growing", "shrunk", "saved", "kept"):
        written = write(LEDGERS[name])
        for place, _ in releases_in(written)[:-1]:
            lines = written.lines()
            del lines[place]
            assert codes(audit(lines)) == {"gap"}, (name, place)


def test_landmarks_and_a_window_together_keep_to_epsilon() -> None:
    """Each alone keeps to it; the finding is about the sum, whatever the figures say."""
    written = write(LEDGERS["joint"])
    last = written.entries[-1]
    last["epsilon_nano"] = 35
    report = audit(seal(written).lines())
    assert codes(report) == {"share", "regular-peak", "theorem"}
    assert "landmarks spent 0.000000066 and a window 0.000000052: more than the epsilon of 0.0000001" in report.text()


@pytest.mark.parametrize(
    ("members", "sentence"),
    [
        ({"scheme": {"name": "bd"}}, "'bd' does not support level landmark"),
        ({"scheme": {"name": "ba"}, "window": 1}, "'ba' does not support level landmark"),
        ({"scheme": {"name": "ba", "dissimilarity": "private"}, "window": 4}, "private dissimilarity"),
        ({"window": 0}, "protection.window"),
        ({"window": 10_001}, "protection.window"),
        ({"level": "event", "window": 2}, "level event does not allow a window"),
        ({"level": "user", "length": 3, "window": 2}, "level user does not allow a window"),
        ({"level": "w-event"}, "needs a window"),
    ],
)
def test_what_has_no_windows(members: dict[str, object], sentence: str) -> None:
    """Schemes and levels differ in whether they have windows, and of how many steps."""
    with pytest.raises(TermsError, match=sentence):
        read_terms(1, parameters_of({"epsilon": 1.0, "scheme": UNIFORM} | members))


@pytest.mark.parametrize("name", ["uniform", "adaptive", "balanced", "skip", "bd", "ba"])
def test_what_has(name: str) -> None:
    """All schemes except those of level user allow landmarks with windows; one step is not a window."""
    scheme = {"name": name} | ({"accept_risk": True} if name == "skip" else {})
    found = read_terms(1, parameters_of({"epsilon": 1.0, "scheme": scheme, "window": 10_000}))
    assert found.frame is not None
    assert (found.frame.steps, found.frame.held_nano) == (10_000, 0)
    if name not in {"bd", "ba"}:
        assert read_terms(1, parameters_of({"epsilon": 1.0, "scheme": scheme, "window": 1})).frame is None


def test_exposed_steps_of_landmarks_and_one_window() -> None:
    """All landmarks count, but only as many other steps as one window can hold, wherever it is."""
    for window in range(1, 6):
        terms = read_terms(
            1, parameters_of({"epsilon": 1.0, "scheme": UNIFORM, "landmarks": [[3000, 5000]], "window": window})
        )
        books = Books(terms, terms.landmarks, 0, 0, 0)
        for seen in ([(0, 9)], [(1, 3), (5, 6)], [(2, 4)], [(4, 5)], [(0, 1), (2, 3), (8, 10)]):
            steps = {step for start, end in seen for step in range(start, end)}
            other = steps - {3, 4}
            most = max(len([step for step in other if at <= step < at + window]) for at in range(10))
            assert exposed_steps(books, LandmarkSet().joined(seen)) == len(steps & {3, 4}) + most
