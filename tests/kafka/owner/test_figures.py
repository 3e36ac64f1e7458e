"""The figures of a partition: counts kept batch by batch equal a count of all rows, and samples show what was left."""

import asyncio
import json
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stream_app.deciding.collection import Collection
from stream_app.deciding.context import Context, Limits
from stream_app.deciding.rows import SeriesRow
from stream_app.formats.records import InputRecord, Records
from stream_app.kafka.memory.rows import MemoryRows
from stream_app.kafka.owner.batch import Batch, decide
from stream_app.kafka.owner.cache import RowReader
from stream_app.kafka.owner.counts import LossCounts
from stream_app.kafka.owner.figures import PartitionMetrics
from stream_app.kafka.owner.inbox import BatchInput
from stream_app.kafka.owner.tail import Tail
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


def shown_in(metrics: Metrics, context: Context) -> PartitionMetrics:
    """Return what shows partition 3 in the metrics."""
    parts: Any = SimpleNamespace(metrics=metrics, context=context, settings=Settings.model_construct(), aside=None)
    return PartitionMetrics(parts, 3)


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
    figures = shown_in(metrics, context)
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


USER = {"level": "user", "length": 4}


class Desk:
    """A partition's input, decided batch by batch."""

    def __init__(self) -> None:
        self.context = Context(KEYS, (default("home-*", protection=USER),), Limits(lifetime_nano=10**12))
        self.reader = RowReader(MemoryRows(), 0, 1_000, 16)
        self.tail, self.collection = Tail(0, ()), Collection(bytes(32))
        self.end = 0

    def batch(self, *records: Record) -> Batch:
        """Decide a batch."""
        start, self.end = self.end, self.end + len(records)
        given = Records.of(
            InputRecord("events", 0, start + nth, 0, None, json.dumps(record).encode())
            for nth, record in enumerate(records)
        )
        one, pages = BatchInput(start, self.end, given, []), partial(MemoryPages, 2**20)
        return asyncio.run(decide(one, pages, self.context, self.reader, self.tail, self.collection))

    def shown(self, batch: Batch, metric: str) -> dict[str, int]:
        """Return the buckets of a histogram after one batch was committed, by upper end, without the empty ones."""
        metrics = Metrics()
        shown_in(metrics, self.context).committed(batch, 0.1, waiting=0, cached_series=0)
        return scrape_of(metrics.text().decode(), 0).by(f"{metric}_bucket", "le")


def homes(count: int, moment: int) -> list[Record]:
    """Return an observation of each of some series under the default policy."""
    return [observation(f"home-{nth}", moment, 1.0) for nth in range(count)]


def test_a_batch_shows_the_budgets_that_it_left_even_after_the_next_one() -> None:
    """Fifty of sixty series count, with half of their budget left; the next batch changes the columns."""
    desk = Desk()
    desk.batch(*homes(60, 1))
    batch = desk.batch(*homes(60, 2))
    assert batch.together == desk.batch(*homes(60, 3)).together == 60
    ends = ("0.5", "0.6", "0.7", "0.8", "0.9", "1.0", "+Inf")
    assert desk.shown(batch, "landmark_budget_left_share") == dict.fromkeys(ends, 50)


def test_series_decided_one_by_one_fill_the_sample_and_closed_ones_take_no_place() -> None:
    """Twenty series in columns have half left; of forty others with three quarters, the first eight are closed."""
    desk = Desk()
    desk.batch(*homes(20, 1))
    names = [f"bus-{nth}" for nth in range(40)]
    versions: list[Record] = [policy(name, protection=USER) for name in names]
    closes: list[Record] = [{"type": "close", "series": name} for name in names[:8]]
    batch = desk.batch(*homes(20, 2), *versions, *(observation(name, 1, 1.0) for name in names), *closes)
    assert batch.together == 20
    assert desk.shown(batch, "landmark_budget_left_share") == {
        **dict.fromkeys(("0.5", "0.6", "0.7"), 20),
        **dict.fromkeys(("0.8", "0.9", "1.0", "+Inf"), 50),
    }
    more = desk.batch({"type": "close", "series": "bus-8"}, observation("bus-9", 2, 1.0))
    assert desk.shown(more, "landmark_budget_left_share")["+Inf"] == 1


def test_fifty_losses_show_whether_or_not_their_correlation_is_configured() -> None:
    """Series that name no correlation take none of the fifty places."""
    desk = Desk()
    versions: list[Record] = [policy(f"bus-{nth}", protection=USER) for nth in range(10)]
    versions += [policy(f"bus-{nth}", protection=USER, correlation="nowhere") for nth in range(10, 70)]
    batch = desk.batch(*versions, *(observation(f"bus-{nth}", 1, 1.0) for nth in range(70)))
    assert not desk.context.correlations
    assert desk.shown(batch, "landmark_backward_loss")["+Inf"] == 50
