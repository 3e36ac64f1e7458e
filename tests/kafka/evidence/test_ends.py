"""Logs that lost an end: the rules over all small facts, compared with the design's sentences written out."""

from dataclasses import replace
from itertools import product

from stream_app.kafka.evidence.ends import NOTHING, AnsweredInput, Bounds, Ends, adopted, disagreement, shortage, torn
from stream_app.kafka.evidence.row import UNKNOWN, PartitionRow
from tests.kafka.evidence.test_row import ROW

OFFSETS = range(4)


def test_every_row_against_every_bound() -> None:
    """A later start or an earlier end of a log that must be whole stops; releases may begin anywhere."""
    bounds = [Bounds(first, end) for first, end in product(OFFSETS, OFFSETS) if first <= end]
    marks = (UNKNOWN, *OFFSETS)
    count = 0
    for changelog_first, ledger_first, releases_offset, ledger_offset in product(marks, marks, marks, OFFSETS):
        row = _row(changelog_first, ledger_first, releases_offset, ledger_offset)
        for changelog, ledger, releases in product((Bounds(first, 9) for first in OFFSETS), bounds, bounds):
            wanted = None
            if releases_offset != UNKNOWN and releases.end < releases_offset:
                wanted = "releases-short"
            if ledger.end < ledger_offset or (ledger_first != UNKNOWN and ledger.first > ledger_first):
                wanted = "ledger-short"
            if changelog_first != UNKNOWN and changelog.first > changelog_first:
                wanted = "changelog-short"
            found = shortage(row, Ends(changelog, ledger, releases))
            assert (None if found is None else found.reason) == wanted
            count += 1
    assert count == 5 * 5 * 5 * 4 * 4 * 10 * 10


def test_without_a_row_the_ledger_must_begin_at_its_start() -> None:
    """A rebuild of the rows would never learn about the series in the lost part."""
    for first in OFFSETS:
        found = shortage(None, Ends(Bounds(first, 9), Bounds(first, 9), Bounds(first, 9)))
        assert (found is not None and found.reason == "ledger-short") == (first > 0)


def test_ledger_and_releases_tell_of_each_others_end() -> None:
    """A release has its entry, and an entry that has a release has it.

    The exception is that all releases expired or that the loss was accepted.
    """
    inputs = (NOTHING, 0, 1, 2)
    for entry, decided, release, reject, accepted in product(inputs, repeat=5):
        if decided > entry:
            continue
        for first in (0, 5):
            found = disagreement(
                AnsweredInput(entry, decided, release, reject),
                Ends(Bounds(0, 9), Bounds(0, 9), Bounds(first, 9)),
                accepted,
            )
            wanted = None
            if decided > release and decided > accepted and (release != NOTHING or first == 0):
                wanted = "releases-short"
            if release > entry:
                wanted = "ledger-short"
            assert (None if found is None else found.reason) == wanted


def test_the_row_names_the_last_reject() -> None:
    """An earlier reject at the end of the log shows a loss of rejects; if none is left, they may have expired."""
    for last_reject, reject, first in product((NOTHING, 0, 1, 2), (NOTHING, 0, 1, 2), (0, 5)):
        found = disagreement(
            AnsweredInput(3, 3, 3, reject),
            Ends(Bounds(0, 9), Bounds(0, 9), Bounds(0, 9), Bounds(first, 9)),
            NOTHING,
            last_reject,
        )
        lost = last_reject > reject and (reject != NOTHING or first == 0)
        assert (None if found is None else found.reason) == ("rejects-short" if lost else None)


def test_what_was_answered_ends_with_the_highest_input() -> None:
    """Any of the outputs may name it."""
    for entry, release, reject in product((NOTHING, 0, 1, 2), repeat=3):
        answered = AnsweredInput(entry, NOTHING, release, reject)
        assert answered.before == max(entry, release, reject) + 1


def test_an_open_transaction_without_a_writer_is_half_of_one() -> None:
    """Its marker is lost; a changelog that ends with a marker is whole."""
    assert torn(Bounds(0, 7), 7) is None
    for committed_end in (5, 6):
        found = torn(Bounds(0, 7), committed_end)
        assert found is not None
        assert found.reason == "changelog-short"


def test_older_rows_adopt_what_they_do_not_tell() -> None:
    """They warn about each log that does not begin at 0; what a row states stays, and nothing else changes."""
    for changelog_first, ledger_first, releases_offset in product((UNKNOWN, 0, 2), repeat=3):
        row = _row(changelog_first, ledger_first, releases_offset, ROW.ledger_offset)
        for first in (0, 2):
            ends = Ends(Bounds(first, 9), Bounds(first, 9), Bounds(1, 8))
            whole, warnings = adopted(row, ends)
            assert whole == replace(
                row,
                changelog_first=first if changelog_first == UNKNOWN else changelog_first,
                ledger_first=first if ledger_first == UNKNOWN else ledger_first,
                releases_offset=8 if releases_offset == UNKNOWN else releases_offset,
            )
            assert len(warnings) == (first > 0) * [changelog_first, ledger_first].count(UNKNOWN)


def _row(changelog_first: int, ledger_first: int, releases_offset: int, ledger_offset: int) -> PartitionRow:
    return replace(
        ROW,
        changelog_first=changelog_first,
        ledger_first=ledger_first,
        releases_offset=releases_offset,
        ledger_offset=ledger_offset,
    )
