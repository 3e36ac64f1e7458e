"""A worker's page: its figures, what it says about trouble, and that nothing in it can act."""

import re
from collections.abc import Mapping

import pytest

from stream_app.kafka.stops import REASONS, StopReason
from stream_app.monitoring.metrics import Metrics, WorkerMetric
from stream_app.monitoring.scrape import gathered
from stream_app.monitoring.snapshot import WorkerSnapshot
from stream_app.monitoring.statuspage.document import View
from stream_app.monitoring.statuspage.history import EVERY_SECONDS, PLACES, History
from stream_app.monitoring.statuspage.worker import AboutWorker, worker_page
from stream_app.privacy.reason import REASONS as REJECTS
from tests.monitoring.statuspage.read import Page
from tests.monitoring.test_snapshot import busy

HOSTILE = "<script>alert(1)</script>\"'&"


def standing(partitions: Mapping[int, StopReason | None], name: str = "landmark-stream", **more: bool) -> AboutWorker:
    """Return the state of a worker that owns these partitions."""
    running = [number for number, trouble in partitions.items() if trouble is None]
    crashed, prepared = more.get("crashed", False), more.get("prepared", True)
    return AboutWorker(name, crashed, prepared, partitions, running, up_seconds=100.0, advice=dict(REASONS.items()))


def shown(metrics: Metrics, how: AboutWorker, history: History | None = None, *, refreshes: bool = True) -> str:
    """Return the page of a registry."""
    history = history or History()
    scrape = gathered(metrics.registry.collect(), 1_000.0)
    return worker_page(how, View(history.snapshot(scrape), history, refreshes))


def test_its_figures_are_those_of_the_registry() -> None:
    """Figures are sums over partitions; decisions go by scheme, and each reject has its remedy."""
    page = Page(shown(busy(), standing({0: None, 1: None})))
    assert page.data["events"] == 100
    assert page.data["lag-records"] == 7
    assert page.data["lag-seconds"] == 2.5
    assert page.data["spent-nano"] == 2_000_000_000
    assert page.data["spent-own-adaptive"] == 2_000_000_000
    assert page.data["rejects"] == page.data["rejected-late"] == 5
    assert page.data["decided-perturbed-adaptive"] == 60
    assert page.data["decided-perturbed-uniform"] == 20
    assert REJECTS["late"].remedy[1:] in page.text
    assert "Serves 2 partitions" in page.text
    assert "Temporal loss" not in page.text


def test_what_waits_is_unknown_outside_the_group() -> None:
    """It used to say "0 records fetched and waiting" while hundreds of events waited for the worker to join."""
    metrics = busy()
    metrics.forget(WorkerMetric.EVENT_LAG_RECORDS)
    metrics.set(WorkerMetric.IN_GROUP, 0)
    page = Page(shown(metrics, standing({}, prepared=False)))
    assert "lag-records" not in page.data
    assert "Not processed yet unknown nothing is fetched outside the consumer group" in " ".join(page.text.split())


def test_what_newcomers_misread() -> None:
    """No time is shown if no event came, records other than events are named, and a sum says what it covers."""
    metrics = busy()
    metrics.count(WorkerMetric.DECISIONS, 1, "control", "", "")
    page = Page(shown(metrics, standing({0: None, 7: None})))
    assert "7 ✓ running 0 0 – 0" in " ".join(page.text.split())
    assert "Append to commit –" in " ".join(Page(shown(Metrics(), standing({0: None}))).text.split())
    assert "policies, landmarks" in page.text
    assert "No guarantee limits this sum" in page.text
    assert "Share of budget remaining at the end of a batch" in page.text


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (standing({0: None}, crashed=True), "✗ Crashed"),
        (standing({0: None, 1: "tail-differs"}), "✗ 1 partition stopped"),
        (standing({})._replace(topic_there=False), "✗ The events topic is missing"),
        (standing({0: None}, prepared=False)._replace(outside=True), "✗ Outside its consumer group"),
        (standing({0: None}, prepared=False), "… Restoring state"),
        (
            standing({}, prepared=False)._replace(joining=45.0),
            "… Waiting for its consumer group, which keeps",
        ),
        (standing({}), "… Owns no partition"),
        (standing({0: None}), "✓ Serves 1 partition"),
    ],
)
def test_its_state(how: AboutWorker, said: str) -> None:
    """The worst state comes first, as a word and a sign, not only as a colour."""
    page = Page(shown(Metrics(), how))
    assert said in page.text


@pytest.mark.parametrize("reason", REASONS)
def test_a_stopped_partition_has_its_remedy(reason: StopReason) -> None:
    """The page shows reason, meaning and remedy; the other partition keeps running."""
    page = Page(shown(busy(), standing({0: None, 1: reason})))
    assert "Partition 1" in page.text
    assert REASONS[reason].remedy.replace("`", "") in page.text
    assert (page.text.count("✓ running"), page.text.count(f"✗ {reason}")) == (1, 1)


def test_losses_stand_there_where_policies_name_a_correlation() -> None:
    """Series above the alarm turn the losses red."""
    metrics = busy()
    metrics.set(WorkerMetric.CORRELATED_SERIES, 9, "0")
    metrics.set(WorkerMetric.ALARMED_SERIES, 2, "0")
    metrics.observe(WorkerMetric.BACKWARD_LOSS, 0.5)
    page = Page(shown(metrics, standing({0: None})))
    assert (page.data["correlated"], page.data["alarmed"]) == (9, 2)
    assert "✗ 2 series above the alarm" in page.text
    assert "Backward loss, mean 0.5" in page.text


def test_members_stand_there_where_they_have_caps() -> None:
    """The page shows the number of members, and how many have nine tenths claimed."""
    metrics = busy()
    assert "people with a limit" not in Page(shown(metrics, standing({0: None}))).text
    for share, number in (("1.00", 5), ("0.10", 2), ("0.00", 1)):
        metrics.set(WorkerMetric.CAP_LEFT_MEMBERS, number, "0", share)
    page = Page(shown(metrics, standing({0: None})))
    assert (page.data["capped"], page.data["claimed"]) == (8, 3)


def test_nothing_in_it_acts_or_loads() -> None:
    """Texts from outside are escaped; no script, no handler, no inline style, and links only to this endpoint."""
    metrics = busy()
    metrics.count(WorkerMetric.REJECTS, 1, HOSTILE)
    page = Page(shown(metrics, standing({0: "row-missing"}, HOSTILE)))
    assert not {"script", "img", "iframe", "object", "embed", "link", "form"} & set(page.elements)
    assert all(re.fullmatch(r"/(metrics|healthz|readyz|\?refresh=off)?", link) for link in page.links)
    assert HOSTILE in page.text


def test_it_can_be_paused() -> None:
    """The page refreshes itself unless it was asked not to."""
    assert 'http-equiv="refresh"' in shown(Metrics(), standing({}))
    paused = shown(Metrics(), standing({}), refreshes=False)
    assert 'http-equiv="refresh"' not in paused
    assert "resume" in Page(paused).text


def test_the_last_minutes() -> None:
    """Rates are over some seconds, as many samples are kept as fit, and distributions forget older values."""
    metrics, history = Metrics(), History()
    metrics.observe(WorkerMetric.BUDGET_LEFT_SHARE, 0.95)
    for place in range(PLACES + 1):
        metrics.count(WorkerMetric.EVENTS, 10, "0")
        history.add(gathered(metrics.registry.collect(), place * EVERY_SECONDS))
    metrics.observe(WorkerMetric.BUDGET_LEFT_SHARE, 0.35)
    rates = history.of(WorkerSnapshot, lambda seen: seen.events_per_second)
    assert rates == [10 / EVERY_SECONDS] * PLACES
    scrape = gathered(metrics.registry.collect(), PLACES * EVERY_SECONDS + 0.1)
    seen = history.snapshot(scrape)
    assert isinstance(seen, WorkerSnapshot)
    assert seen.detail is not None
    found = history.observed(WorkerMetric.BUDGET_LEFT_SHARE, seen.detail)
    assert {upper: met for upper, met in found.counts.items() if met} == {"0.4": 1}
    assert found.mean == pytest.approx(0.35)
    assert history.snapshot(scrape) != history.snapshot(scrape._replace(seconds=scrape.seconds + 100))
    assert "at most 2.0" in Page(shown(metrics, standing({0: None}), history)).text


def test_no_figure_is_above_the_most_of_its_line() -> None:
    """The value shown now is part of its plot: a wait of 683 ms once stood over "at most 419 ms"."""
    metrics, history = Metrics(), History()
    metrics.set(WorkerMetric.EVENT_LAG_SECONDS, 0.419, "0")
    metrics.count(WorkerMetric.EVENTS, 10, "0")
    for place in range(PLACES):
        history.add(gathered(metrics.registry.collect(), place * EVERY_SECONDS))
    metrics.set(WorkerMetric.EVENT_LAG_SECONDS, 0.683, "0")
    text = Page(shown(metrics, standing({0: None}), history)).text
    assert "683 ms" in text
    assert "at most 683 ms" in text
    assert "419 ms" not in text
