"""Who can tell that a ledger without its beginning misses no series: the rule over all small facts."""

from dataclasses import replace
from itertools import product

from stream_app.deciding.members import Member
from stream_app.deciding.outcome import ProcessedRecord
from stream_app.deciding.rows import SeriesRow
from stream_app.kafka.evidence.ends import Bounds, Ends, Shortage
from stream_app.kafka.rebuild.folding import FoldedLogs
from stream_app.kafka.rebuild.survey import Coverage, missing, vouched
from tests.run import Run, policy


def test_who_tells() -> None:
    """A series that is named and has no row is never forgotten; where nobody can tell, somebody must say to go on."""
    for lacking, first, covers, releases, held, expected, accepted in product(
        (0, 2),
        (0, 5),
        (None, 0, 4, 5, 9),
        (Bounds(0, 0), Bounds(0, 3), Bounds(1, 3)),
        (None, 0, 4, 5, 9),
        (False, True),
        (False, True),
    ):
        heads = None if covers is None else Coverage(covers, {})
        ends = Ends(Bounds(0, 9), Bounds(first, 9), releases)
        found = vouched(ends, heads, lacking, held=held, expected=expected, accepted=accepted)
        stale = first == 5 and held in {0, 4}
        if lacking:
            wanted = "ledger-short"
        elif first == 0 or (expected and not stale):
            wanted = "ledger"
        elif covers is not None and covers >= 5:
            wanted = "heads"
        elif releases == Bounds(0, 3) and not stale:
            wanted = "releases"
        else:
            wanted = "nobody" if accepted else "ledger-short"
        assert (found.reason if isinstance(found, Shortage) else found) == wanted


def test_missing_is_what_anybody_names() -> None:
    """In heads, in releases, or in entries whose beginning is gone; and what a row knows less of than was signed."""
    rows = {"whole": row("whole", 3), "behind": row("behind", 3)}
    told = FoldedLogs(rows, {}, {}, {}, {}, 0, {"cut"}, {"whole", "published"}, set())
    assert missing(told, None) == {"cut", "published"}
    heads = Coverage(9, {"whole": 3, "behind": 4, "signed": 1})
    assert missing(told, heads) == {"cut", "published", "behind", "signed"}
    members = told._replace(members={"p/": Member("p/", 1), "q/": Member("q/", 2)})
    assert missing(members, Coverage(9, {"p/": 2, "q/": 2, "r/": 1})) == {"cut", "published", "p/", "r/"}


def row(series: str, sequence: int) -> SeriesRow:
    """Return a row that has come so far."""
    outcome = Run().feed(policy(series))
    assert isinstance(outcome, ProcessedRecord)
    return replace(outcome.row, sequence=sequence)
