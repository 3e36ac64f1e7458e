"""Budgets in the metrics: which series count, in which class, under which label."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from stream_app.deciding.context import Context, Limits
from stream_app.deciding.rows import SeriesRow
from stream_app.kafka.memory.rows import MemoryRows
from stream_app.kafka.owner.budgets import (
    EARLIER,
    MORE,
    NAMED,
    OWN,
    budget_groups,
    counted_budgets,
    label_of,
    labels_of,
    show_budgets,
)
from stream_app.kafka.owner.cache import RowCache, RowReader
from stream_app.monitoring.metrics import CLASSES, Metrics
from stream_app.monitoring.scrape import scrape_of
from tests.run import ADAPTIVE, KEYS, Run, default, observation, policy

USER = {"level": "user", "length": 4}
DEFAULT = default("home-*", protection=USER)


def rows() -> dict[str, SeriesRow]:
    """Return rows of every kind: default and own policies, exhaustible or not, with a rate or not, open or closed."""
    run = Run(Context(KEYS, (DEFAULT,), Limits(lifetime_nano=10**12)))
    run.feed_all([observation("home-1", step, 1.0) for step in (1, 2, 3)])
    run.feed_all([observation("home-2", step, 1.0) for step in (1, 2, 3, 4)])
    run.feed_all([observation("home-3", 1, 1.0), {"type": "close", "series": "home-3"}])
    run.feed_all([policy("bus-1", protection={"level": "event"}), observation("bus-1", 1, 1.0)])
    run.feed_all([policy("bus-2", protection=USER, scheme=ADAPTIVE), observation("bus-2", 1, 1.0)])
    window, bd = {"level": "w-event", "window": 4}, {"name": "bd", "dissimilarity": "private"}
    run.feed_all([policy("bus-3", protection=window, scheme=bd), observation("bus-3", 1, 1.0)])
    run.feed_all(
        [policy("bus-4", protection=window, scheme=bd | {"dissimilarity": "released"}), observation("bus-4", 1, 1.0)]
    )
    return run.rows


def reader(rows: dict[str, SeriesRow], fewest: int = 16) -> RowReader:
    """Return a reader that holds rows in memory."""
    found = RowReader(MemoryRows(), 0, 100, fewest)
    found.take(rows)
    return found


def test_series_count_in_the_class_of_their_share() -> None:
    """They have a quarter or three quarters left; closed, event-level and finished series do not count."""
    standing = counted_budgets([reader(rows())])
    digest = DEFAULT.digest
    assert standing.left == {
        ("uniform", digest, "0.30"): 1,
        ("adaptive", "", "0.80"): 1,
    }
    assert standing.left_nano == {("uniform", digest): 250_000_000, ("adaptive", ""): 750_000_000}
    assert standing.rates == {("", "1.00"): 2}, "of bus-2 and bus-4"
    assert standing.most == (10**9, 10**9), "of all levels"


def test_labels_are_few_and_say_no_glob() -> None:
    """Labels stay few for any number of default policies; equal ones share the first place."""
    many = [default(f"home-{nth}", epsilon=1 + nth / 100) for nth in range(2 * NAMED)]
    labels = labels_of([many[0], *many])
    assert set(labels.values()) == {"default-1", *(f"default-{nth}" for nth in range(3, NAMED + 1)), MORE}
    assert label_of(labels, many[0].digest) == "default-1"
    assert (label_of(labels, ""), label_of(labels, "another")) == (OWN, EARLIER)


def test_what_is_shown_is_replaced() -> None:
    """A second look shows only itself; values under one label are added up."""
    metrics, labels = Metrics(), labels_of([])
    show_budgets(metrics, labels, counted_budgets([reader(rows())]))
    shown = scrape_of(metrics.text().decode(), 0).samples["landmark_budget_left_series"]
    assert {(sample.labels["policy"], sample.labels["share"]): sample.value for sample in shown} == {
        (EARLIER, "0.30"): 1,
        (OWN, "0.80"): 1,
    }
    show_budgets(metrics, labels, counted_budgets([]))
    assert "landmark_budget_left_series" not in scrape_of(metrics.text().decode(), 0).samples


@pytest.mark.parametrize("fewest", [1, 100])
def test_budgets_that_are_used_as_planned_do_not_count(fewest: int) -> None:
    """A small remainder counts while a landmark is to come or may be registered, not once all have passed."""
    run = Run(Context(KEYS))
    for name, landmarks, spare in (("over", [1, 2], 0), ("to-come", [1, 9], 0), ("spare", [1, 2], 1)):
        protection = {"level": "landmark", "landmarks": landmarks, "spare": spare}
        run.feed_all([policy(name, protection=protection), *(observation(name, at, 1.0) for at in (1, 2, 3))])
    for name, row in run.rows.items():
        guard = row.state.guard._replace(landmark_spent_nano=row.state.guard.budget_nano)
        run.rows[name] = replace(row, state=replace(row.state, guard=guard._replace(regular_peak_nano=0)))
    found = reader(run.rows, fewest)
    assert len(found.states) == (3 if fewest == 1 else 0)
    assert counted_budgets([found]).left == {("uniform", "", "0.00"): 2}
    over = counted_budgets([reader({"over": run.rows["over"]}, fewest)])
    assert (dict(over.left), dict(over.left_nano)) == ({}, {}), "an alert would take a total of 0 for a budget used up"


def test_columns_and_rows_count_alike() -> None:
    """It makes no difference whether a series is stored as a row or in columns."""
    apart, together = reader(rows(), fewest=100), reader(rows(), fewest=1)
    together.take(rows())
    assert (len(apart.states), len(together.states)) == (0, 4)
    assert counted_budgets([apart]) == counted_budgets([together])


@pytest.mark.parametrize("fewest", [1, 100])
def test_each_open_series_is_observed_as_its_row_says(fewest: int) -> None:
    """Literal shares and rates of the rows; those in columns keep their amounts when the columns change."""
    found = reader(rows(), fewest)
    groups = list(budget_groups(found.rows(), found.states, np.array(sorted(found.states.index.values()), np.int64)))
    found.states.figures["landmark_spent_nano"] = found.states.figures["rate_nano"] = 0
    metrics = Metrics()
    for group in groups:
        group.observe(metrics)
    shown = scrape_of(metrics.text().decode(), 0)
    shares = shown.by("landmark_budget_left_share_bucket", "le")
    assert [shares[end] for end in ("0.0", "0.2", "0.3", "0.7", "0.8", "+Inf")] == [1, 1, 2, 2, 3, 3]
    rates = shown.by("landmark_sampling_rate_bucket", "le")
    assert rates == {"1.0": 2, "+Inf": 2}


def test_the_worst_is_that_of_the_largest_share() -> None:
    """The largest share of all open series is found by literal fractions; without series there is none."""
    run = Run(Context(KEYS, (DEFAULT,), Limits(lifetime_nano=10**12)))
    run.feed_all([observation("home-1", 1, 1.0)])
    run.feed_all([policy("bus-1", epsilon=4.0, protection=USER), *(observation("bus-1", step, 1.0) for step in (1, 2))])
    found = counted_budgets([reader(run.rows)]).most
    assert found == max(
        ((row.state.guard.used_nano, row.state.guard.budget_nano) for row in run.rows.values()),
        key=lambda each: Fraction(*each),
    )
    assert found == (2 * 10**9, 4 * 10**9)
    metrics = Metrics()
    show_budgets(metrics, labels_of([]), counted_budgets([reader(run.rows)]))
    shown = scrape_of(metrics.text().decode(), 0)
    assert shown.total("landmark_budget_most_used_nano_epsilon") == found[0]
    assert shown.total("landmark_budget_most_promised_nano_epsilon") == found[1]
    assert counted_budgets([]).most == (0, 0)


def test_of_equal_shares_that_of_the_largest_promise_counts() -> None:
    """This holds in columns as in rows, whichever series comes first."""
    run = Run(Context(KEYS, (), Limits(lifetime_nano=10**12)))
    for nth, epsilon in enumerate((1.0, 4.0, 2.0)):
        run.feed_all([policy(f"a-{nth}", epsilon=epsilon, protection=USER), observation(f"a-{nth}", 1, 1.0)])
    together, apart = reader(run.rows, fewest=1), reader(run.rows, fewest=100)
    together.take(run.rows)
    assert (len(together.states), len(apart.states)) == (3, 0)
    assert counted_budgets([together]).most == counted_budgets([apart]).most == (10**9, 4 * 10**9)


def test_rows_in_memory_are_the_last_of_each_series_and_bounded() -> None:
    """A later row replaces an earlier one; series whose last change is oldest are dropped first."""
    row = rows()["home-1"]
    cache = RowCache(4)
    cache.put("home-1", row)
    later = replace(row, sequence=row.sequence + 1)
    cache.put("home-2", row)
    cache.put("home-1", later)
    assert sorted(row.sequence for row in cache.rows()) == [row.sequence, later.sequence]
    for nth in range(10):
        cache.put(f"home-{nth}", row)
        assert len(list(cache.rows())) <= 4
    assert tuple(sorted(CLASSES)) == CLASSES
