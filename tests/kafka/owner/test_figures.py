"""The counts of backward losses: maintained batch by batch, they equal a count of all stored rows."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stream_app.deciding.context import Context, Limits
from stream_app.deciding.rows import SeriesRow
from stream_app.formats.records import InputRecord, Records
from stream_app.kafka.owner.batch import Batch
from stream_app.kafka.owner.counts import LossCounts
from stream_app.kafka.owner.figures import PartitionMetrics
from stream_app.kafka.owner.inbox import BatchInput
from stream_app.loss.correlation import Correlation
from stream_app.monitoring.metrics import Metrics
from stream_app.monitoring.scrape import scrape_of
from stream_app.setup.settings import Settings
from tests.cluster.writer import MemoryPages
from tests.kafka.owner.test_caps import decided
from tests.run import KEYS, SCHEMES, Record, default, observation, policy

SERIES = [f"home-{nth}" for nth in range(6)]
CONTEXT = Context(
    KEYS,
    limits=Limits(lifetime_nano=10**12),
    correlations={"household": Correlation.of_strength(3, 0.6).adversary().backward},
)


def batches() -> list[list[Record]]:
    """Return batches of some series that name a correlation, stop, and resume; with gaps and rejects."""
    found: list[list[Record]] = []
    for nth in range(12):
        batch: list[Record] = []
        for place, series in enumerate(SERIES):
            named = "household" if (nth // 4 + place) % 3 else None
            if nth % 4 == 0:
                batch.append(policy(series, nth + 1, scheme=SCHEMES["uniform"], correlation=named))
            if (nth + place) % 5:
                batch.append(observation(series, 1_000 * nth + 7 * place * nth, place))
        found.append(batch)
    return found


@pytest.mark.parametrize("alarm", [None, 0.05, 0.6, 1.2])
def test_moves_add_up_to_a_count_of_all_rows(alarm: float | None) -> None:
    """This holds after every batch, for any alarm level; without one nothing is alarming."""
    counts, recounted = (LossCounts(Settings.model_construct(correlation_alarm=alarm)) for _ in range(2))
    rows: dict[str, SeriesRow] = {}
    table: dict[bytes, bytes] = {}
    seen = set()
    for batch in batches():
        decider = decided(CONTEXT, batch, rows, {})
        counts.move(decider.losses())
        table.update(decider.stored())
        rows.update(decider.changed)
        recounted.take(value for key, value in table.items() if key[:1] == b"s")
        assert (counts.correlated, counts.alarmed) == (recounted.correlated, recounted.alarmed)
        losses = [row.backward_loss for row in rows.values() if row.backward_loss is not None]
        assert counts.correlated == len(losses)
        assert counts.alarmed == sum(alarm is not None and loss >= alarm for loss in losses)
        seen.add((counts.correlated, counts.alarmed))
    assert len(seen) > 1
    counts.take(())
    assert (counts.correlated, counts.alarmed) == (0, 0)


def test_nothing_is_counted_without_a_correlation() -> None:
    """Without a configured correlation, a worker neither reads its rows at the start nor shows counts."""
    assert not LossCounts(Settings.model_construct()).wanted
    assert LossCounts(Settings.model_construct(correlations={"household": Path("file")})).wanted


def test_renewals_are_counted_and_refused_ones_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """A batch's bounds are counted by outcome; one line covers all refused ones and names no series."""
    limits = Limits(lifetime_nano=2 * 10**9)
    context = Context(KEYS, (default("home-*", renew=[100, 200]),), limits)
    metrics = Metrics()
    parts: Any = SimpleNamespace(metrics=metrics, context=context, settings=Settings.model_construct(), aside=None)
    figures = PartitionMetrics(parts, 3)
    table: dict[str, SeriesRow] = {}
    for at in (0, 150, 250):
        decider = decided(context, [observation(series, at, 1) for series in SERIES], table, {})
        table |= decider.changed
        batch = Batch.of(
            BatchInput(0, 1, Records.of([InputRecord("events", 0, 0, 0, None, b"")]), []),
            *[MemoryPages(1) for _ in range(4)],
        )
        batch.renewals, batch.decisions = decider.renewals, decider.decisions
        figures.committed(batch, 0.1, waiting=0, cached_series=0)
    scrape = scrape_of(metrics.text().decode(), 0)
    assert scrape.by("landmark_renewals_total", "outcome") == {"begun": 6, "refused": 6}
    assert scrape.by("landmark_decisions_total", "policy") == {"default-1": 18}, "a renewed default keeps its label"
    told = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(told) == 1
    assert "partition 3: 6 policies were not renewed" in told[0]
    assert not any(series in told[0] for series in SERIES)
