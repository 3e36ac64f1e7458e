"""Hostile logs in batches, with groups of one and without groups: the same bytes in order, rows and counts."""

from itertools import islice

import numpy as np

from stream_app.formats.records import InputRecord
from tests.deciding.columns.test_same_bytes import Way
from tests.hostile import HOMES_CONTEXT, hostile_homes

LARGEST_BATCH = 60


def test_hostile_records_come_to_the_same_in_groups_of_one_and_alone(hostile_records: int) -> None:
    """Many series each get valid and absurd records, in batches of any length; some are decided as columns."""
    of = np.random.default_rng(4)
    columns, alone = (Way(together=True, fewest=fewest, cached=1000) for fewest in (1, 10**9))
    sent = enumerate(hostile_homes(of, hostile_records))
    records = (InputRecord("events", 0, nth, nth * 1000, None, value) for nth, value in sent)
    while batch := list(islice(records, int(of.integers(1, LARGEST_BATCH)))):
        assert columns.decide(HOMES_CONTEXT, batch) == alone.decide(HOMES_CONTEXT, batch)
        assert columns.out == alone.out
        for kept in (*columns.out.values(), *alone.out.values()):
            kept.clear()
    print(f"\n{columns.taken} series of batches of {hostile_records} records were decided as columns")
    assert columns.taken > hostile_records // 50
    assert not alone.taken
