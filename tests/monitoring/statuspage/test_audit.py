"""The page of an audit that follows: the verdict, the findings that may be shown, and its progress."""

from stream_app.monitoring.metric import Gauge
from stream_app.monitoring.metrics import AUDIT_TABLE, AuditMetric, Metrics
from stream_app.monitoring.scrape import gathered
from stream_app.monitoring.statuspage.audit import AboutAudit, ShownFinding, audit_page
from stream_app.monitoring.statuspage.document import View
from stream_app.monitoring.statuspage.history import History
from tests.monitoring.statuspage.read import Page


def shown(metrics: Metrics, *latest: ShownFinding, reached: bool = True) -> Page:
    """Return the page of a registry."""
    scrape = gathered(metrics.registry.collect(), 0.0)
    history = History()
    history.add(scrape)
    about = AboutAudit(
        topic="landmark.ledger",
        reached=reached,
        signed=True,
        meanings={"fork": "two entries follow the same one"},
        latest=latest,
        up_seconds=5.0,
        breaks=frozenset({"theorem", "lifetime"}),
    )
    return Page(audit_page(about, View(history.snapshot(scrape), history, refreshes=True)))


def measured(**gauges: int) -> Metrics:
    """Return the registry of an audit."""
    metrics = Metrics(AUDIT_TABLE)
    for name, number in gauges.items():
        gauge = AUDIT_TABLE[f"landmark_audit_{name}"]
        assert isinstance(gauge, Gauge)
        metrics.set(gauge, number)
    return metrics


def test_it_holds() -> None:
    """The page shows figures, and the verdict once everything is read."""
    page = shown(measured(entries=1234, series=9, lag_records=2, unsigned_entries=3))
    assert page.data == {"entries": 1234, "series": 9, "lag-records": 2, "unsigned": 3, "findings": 0}
    assert "✓ Holds: no findings" in page.text
    assert "… Reading the existing entries" in shown(measured(), reached=False).text


def test_findings() -> None:
    """Findings are listed by code and meaning, with series and message if allowed, else a hint where these are."""
    metrics = measured(entries=5)
    metrics.count(AuditMetric.FINDINGS, 2, "fork")
    page = shown(metrics, ShownFinding("2026-01-01 00:00:00", "fork", "<home-7> 4", "<was changed>"))
    assert "✗ Integrity error: 2 findings" in page.text
    metrics.count(AuditMetric.FINDINGS, 1, "theorem")
    worse = " ".join(shown(metrics).text.split())
    assert "✗ Guarantee violated: 3 findings" in worse
    assert worse.index("theorem 1 guarantee") < worse.index("fork 2 integrity")
    assert (page.data["found-fork"], page.data["findings"]) == (2, 2)
    assert "two entries follow the same one." in page.text
    assert "<home-7> 4 <was changed>" in page.text
    silent = shown(metrics, ShownFinding("2026-01-01 00:00:00", "fork", "", ""))
    assert "http_series" in silent.text
