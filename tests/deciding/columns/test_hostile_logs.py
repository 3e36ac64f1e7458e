"""Hostile logs in batches, with groups of one and without groups: the same bytes in order, rows and counts."""

import json
import re
from collections.abc import Iterator
from itertools import islice

import numpy as np

from stream_app.deciding.context import Context, Limits
from stream_app.formats.records import InputRecord
from tests.deciding.columns.test_same_bytes import Way
from tests.hostile import hostile
from tests.run import ADAPTIVE, COUNTS, KEYS, LOCATION, default

HOMES = 30
NAMES = (
    "{}",
    "{} ",
    " {}",
    "{}\t",
    "{}\n",
    "{}\u00a0",
    "{}/",
    "{}é",
    "{}e\u0301",
    "{}𝒳",
    "{}%",
    "{}\x00",
    "{}" + "n" * 150,
)
"""Forms of a home's name; only the last one is long enough to be measured in bytes."""
LARGEST_BATCH = 60


def test_hostile_records_come_to_the_same_in_groups_of_one_and_alone(hostile_records: int) -> None:
    """Many series each get valid and absurd records, in batches of any length; some are decided as columns."""
    context = Context(
        KEYS,
        (
            default("*home-*", filter="level"),
            default("bus-*", value=LOCATION),
            default("cell-*", value=COUNTS, scheme=ADAPTIVE),
        ),
        Limits(lifetime_nano=10**18, accept_weaker_policies=True),
    )
    of = np.random.default_rng(4)
    columns, alone = (Way(together=True, fewest=fewest, cached=1000) for fewest in (1, 10**9))
    records = _records(of, hostile_records)
    while batch := list(islice(records, int(of.integers(1, LARGEST_BATCH)))):
        assert columns.decide(context, batch) == alone.decide(context, batch)
        assert columns.out == alone.out
        for kept in (*columns.out.values(), *alone.out.values()):
            kept.clear()
    print(f"\n{columns.taken} series of batches of {hostile_records} records were decided as columns")
    assert columns.taken > hostile_records // 50
    assert not alone.taken


def _records(of: np.random.Generator, number: int) -> Iterator[InputRecord]:
    """Yield hostile records: those of two series and of one without a policy, distributed over homes.

    Every thousand records, the homes are new: absurd records close a home, or move it too far ahead.
    """
    for nth, (value, _) in enumerate(hostile(of, number)):
        which = int(of.integers(0, HOMES))
        name = NAMES[which % len(NAMES)].format(f"home-{nth // 1000}-{which}")
        home = json.dumps(name).encode().replace(b"\\", b"\\\\")  # as `re.sub` reads it
        sent = None if value is None else re.sub(b'"(home-1|home-2|stray)"', home, value)
        yield InputRecord("events", 0, nth, nth * 1000, None, sent)
