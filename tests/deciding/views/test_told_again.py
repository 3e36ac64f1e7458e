"""Which views were refused, as the rejects show when rows are rebuilt."""

from dataclasses import replace
from typing import Any

import orjson
from hypothesis import given, settings

from stream_app.deciding.context import Context
from stream_app.deciding.rebuild import rebuilt
from stream_app.deciding.rows import NO_VIEWS, Views
from stream_app.deciding.views.refusals import may_tell_a_view, told_again
from tests.deciding.views.logs import BASE, DAY, LIMITS, base, context, logs, run_of, view
from tests.run import Run, default, policy
from tests.suite.speeds import scaled
from tests.units import reading

TIGHT = context(base(), view("day", 8), view("week", 24), limits=replace(LIMITS, member_nano=2 * 10**14))
"""The cap has room for the base alone."""


def views_told(run: Run, of: Context) -> Views:
    """Return the views of the base according to ledger and rejects."""
    found = map(orjson.loads, run.rejects)
    rejects = [one["series"] for one in found if one["series"] and may_tell_a_view(one["reason"], one["timestamp"])]
    rows = rebuilt(of, run.ledger, run.releases).rows
    rows |= told_again(rows, rejects, of)
    return rows[BASE].views if BASE in rows else NO_VIEWS


@given(log=logs())
@settings(max_examples=scaled(50))
def test_the_rejects_tell_which_views_were_refused(log: list[dict[str, Any]]) -> None:
    """As a result, no view is rejected a second time."""
    run = run_of(*log, of=TIGHT)
    assert views_told(run, TIGHT) == (run.rows[BASE].views if BASE in run.rows else NO_VIEWS)


def test_the_reject_of_a_policy_tells_of_no_view() -> None:
    """It concerns a record, and the view may begin with the next reading."""
    of = context(base(), view("week", 24))
    run = run_of(reading(0, 5, BASE), of=of)
    run.context = context()
    run.feed(policy(DAY, 2, protection={"level": "event"}))
    assert run.rows[BASE].views == views_told(run, run.context) == Views(("week",))


def test_an_ordinary_series_beside_tells_of_no_view() -> None:
    """Its id contains the separator twice, like a view's id; the cap has no room for it."""
    of = context(base(), default(f"{BASE}/other"), limits=replace(LIMITS, member_nano=2 * 10**14))
    run = run_of(reading(0, 5, BASE), reading(0, 5, f"{BASE}/other"), of=of)
    assert [(one["series"], one["reason"]) for one in map(orjson.loads, run.rejects)] == [
        (f"{BASE}/other", "member-cap")
    ]
    assert run.rows[BASE].views == views_told(run, of) == NO_VIEWS
