"""The row cache compared with a plain dictionary: whatever is evicted, no row is ever an old one."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from stream_app.deciding.context import Context
from stream_app.deciding.rows import SeriesRow
from stream_app.kafka.owner.cache import RowCache
from tests.run import KEYS, Run, default, observation

SERIES = ("home-1", "home-2", "home-3", "home-4", "home-5")


def row() -> SeriesRow:
    """Return some row."""
    run = Run(Context(KEYS, (default("home-*"),)))
    run.feed(observation("home-1", 1, 1.0))
    return run.rows["home-1"]


ROW = row()


@given(st.integers(1, 6), st.lists(st.tuples(st.sampled_from(["put", "get", "forget"]), st.sampled_from(SERIES))))
def test_a_cached_row_is_the_last_one(size: int, acts: list[tuple[str, str]]) -> None:
    """The cache also holds the most recently used series, half of its capacity, except those it was told to forget."""
    cache, last = RowCache(size), dict[str, SeriesRow]()
    used: list[str] = []
    for number, (act, series) in enumerate(acts):
        if act == "put":
            last[series] = replace(ROW, series=series, sequence=number)
            cache.put(series, last[series])
        elif act == "forget":
            last.pop(series, None)
            cache.forget(series)
        found = cache.get(series)
        assert found in ((last[series], None) if series in last else (None,))
        used = [*(one for one in used if one != series), series] if found else used
        assert {one.series: one for one in cache.rows()}.items() <= last.items()
        assert len(cache) == len(list(cache.rows())) <= 2 * max(1, size // 2)
        kept = {one.series for one in cache.rows()}
        assert kept >= set(used[-max(1, size // 2) :]) & last.keys()
