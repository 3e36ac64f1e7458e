"""A log sent again without the records that all its series refused gives the same bytes."""

from typing import Any

import orjson
from hypothesis import event, given, settings

from stream_app.deciding.views.refusals import Refusals
from tests.deciding.views.logs import BASE, DAY, WEEK, logs, refused, run_of
from tests.suite.speeds import scaled
from tests.units import reading

VIEWS = {BASE: (DAY, WEEK)}


def kept(log: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what `resend` sends: readings and watermarks unless all refused them, other records if nobody did."""
    run, refusals = run_of(*log), Refusals()
    for series, reason, offset in refused(run):
        refusals.add(offset, series, reason)
    found = []
    for offset, record in enumerate(log):
        dated = record.get("type", "observation") in {"observation", "watermark"}
        everybody = refusals.refused_by_all(offset, record["series"], VIEWS.get(record["series"], ()))
        if not (everybody if dated else offset in refusals):
            found.append(record)
    return found


@given(log=logs())
@settings(max_examples=scaled(100))
def test_what_is_sent_again_comes_to_the_same_bytes(log: list[dict[str, Any]]) -> None:
    """No release or entry is lost or new: a series that refused a record taken by another refuses it again."""
    sent, run = kept(log), run_of(*log)
    again = run_of(*sent)
    assert (again.releases, again.ledger) == (run.releases, run.ledger)
    event(f"left out: {len(sent) < len(log)}")


def test_what_a_view_took_is_sent_again() -> None:
    """It was late only for the base; a record late for all is omitted."""
    log = [reading(at, 5, BASE) for at in (8, 13, 11, 3, 30, 9)]
    assert {orjson.loads(one)["offset"] for one in run_of(*log).rejects} == {2, 3, 5}
    assert kept(log) == [*log[:3], log[3], log[4]]
