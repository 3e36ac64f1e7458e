"""The use of what was promised: all who state it agree, and it is never less than what was truly lost."""

from collections.abc import Mapping

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_app.audit import Auditor
from stream_app.audit.answers.asked import answers_of
from stream_app.audit.standing.inquiry import StandingInquiry
from stream_app.audit.standing.text import text_of
from stream_app.deciding.rows import SeriesRow
from stream_app.deciding.used import MostUsed
from stream_app.kafka.memory.rows import MemoryRows
from stream_app.kafka.owner.budgets import counted_budgets
from stream_app.kafka.owner.cache import RowReader
from stream_app.words.amount import largest_loss, of_limit, quoted
from tests import readings
from tests.audit import gathered, test_people
from tests.audit.histories import History, histories
from tests.run import Record, Run, limited, observation, policy
from tests.suite.speeds import scaled
from tests.used import literally_used, truly_lost, worst

MANY = settings(max_examples=scaled(75), suppress_health_check=[HealthCheck.too_slow])
LIFETIME_NANO = 10**13


@MANY
@given(histories())
def test_of_plain_series(history: History) -> None:
    """They have all levels, schemes and kinds, registrations before and after, draws, versions, renewals, ends."""
    compare(history.ledger, history.lifetime_nano, history.rows)


@pytest.mark.parametrize("logs", [gathered.schedules(), readings.schedules()], ids=["collected", "readings"])
@MANY
@given(st.data())
def test_of_steps_of_several_records(logs: st.SearchStrategy[list[Record]], data: st.DataObject) -> None:
    """They are sums, means and choices of contributors, or steps of several readings.

    Steps are closed in any way, renewed or not.
    """
    run = Run(limited(lifetime_nano=LIFETIME_NANO, accept_weaker_policies=True)).feed_all(data.draw(logs))
    compare(run.ledger, LIFETIME_NANO, run.rows)


@MANY
@given(test_people.logs())
def test_of_series_of_members(run: Run) -> None:
    """Caps bound the claims of such series, but change nothing about what each used of its own promise."""
    compare(run.ledger, run.context.limits.lifetime_nano, run.rows)


def test_a_step_that_becomes_a_landmark_late_counts_at_once() -> None:
    """This holds even without a later entry: it costs as much as the most expensive other step."""
    share = {"name": "balanced", "regular_share": 0.25}
    run = Run().feed_all([policy("a", protection={"level": "landmark", "landmarks": [9]}, scheme=share)])
    run.feed_all([observation("a", 1, 1.0), {"type": "landmarks", "series": "a", "add": [1]}])
    assert orjson.loads(run.ledger[-1])["charged_nano"] == 25 * 10**7
    assert literally_used(run.ledger) == {("a", 1): (50 * 10**7, 10**9)}
    compare(run.ledger, None, run.rows)


def compare(ledger: list[bytes], lifetime_nano: int | None, rows: Mapping[str, SeriesRow]) -> None:
    """Compare a run's summary, audit, answers, standing, rows and metrics with literal sums."""
    literal, lost = literally_used(ledger), truly_lost(ledger)
    above = b'"dissimilarity":"private"' in b"".join(ledger) or any(
        entry["entry"] == "landmarks" and entry["charged_nano"] for entry in map(orjson.loads, ledger)
    )
    for each, (used_nano, epsilon_nano) in literal.items():
        assert lost[each] <= used_nano <= epsilon_nano
        assert above or lost[each] == used_nano, "exactly, where no bound stands for a sum"
    run, auditor = MostUsed(), Auditor(lifetime_nano=lifetime_nano)
    for entry in map(orjson.loads, ledger):
        run.written(entry)
    auditor.entries(ledger)
    report = auditor.finish()
    assert report.found == 0, report.findings
    said = [report.used.sentence(report.series, versions=report.replaced)] if report.used else []
    assert [run.sentence][: bool(run.sentence)] == said, "the same series, where several used as much"
    answers = answers_of(auditor.followed(), auditor.rules.members, lifetime_nano)
    told = {one.series: (one.policy, one.used) for one in answers.used}
    latest = {series: max(version for name, version in lost if name == series) for series, _ in lost}
    assert told.keys() == latest.keys()
    for series, version in latest.items():
        inquiry = StandingInquiry(series, lifetime_nano)
        inquiry.entries(ledger)
        (one,) = inquiry.answer().series
        stands = {(series, found.version): (found.used_nano, found.promised_nano) for found in one.versions}
        nothing = {each: (0, stands[each][1]) for each in stands if each not in literal}
        assert stands == {each: used for each, used in literal.items() if each[0] == series} | nothing
        used = of_limit(*stands[series, version])
        assert told[series] == (version, used)
        stood = text_of(inquiry.answer()).splitlines()
        assert [
            line.endswith(f"; {largest_loss(*stands[series, version])}")
            for line in stood
            if line.startswith(f"{quoted(series)}: ")
        ][-1]
        guard = rows[series].state.guard
        assert (guard.used_nano, guard.budget_nano) == stands[series, version], "what the worker would stop by"
    ruling = {
        series: literal.get((series, version), (0, rows[series].state.guard.budget_nano))
        for series, version in latest.items()
        if not rows[series].state.closed
    }
    for fewest in (1, 100):  # in columns, and as rows
        reader = RowReader(MemoryRows(), 0, 100, fewest)
        reader.take(rows)
        most = counted_budgets([reader]).most
        assert most == (worst({(series, 0): used for series, used in ruling.items()}) if ruling else (0, 0))
