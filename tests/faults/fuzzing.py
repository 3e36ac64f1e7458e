"""Records that nobody should send, with keys, places and headers that nobody should give them."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.faults.topics import Sent, partition_of
from tests.hostile import hostile
from tests.run import ADAPTIVE, BALANCED, CATEGORY, COUNTS, LOCATION, policy

HOMES = 30
RULED: dict[str, dict[str, Any]] = {
    "home-*": {"scheme": ADAPTIVE},
    "bus-*": {"value": LOCATION, "filter": "level"},
    "cell-*": {"value": COUNTS},
    "phone-*": {"value": CATEGORY, "scheme": BALANCED},
}
POLICIES = tuple(
    {name: part for name, part in policy(glob, **members).items() if name not in {"type", "version"}}
    for glob, members in RULED.items()
)
"""Default policies for the valid records among them."""


def fuzzed(seed: int, partitions: int, count: int) -> Iterator[Sent]:
    """Yield hostile records, the same for the same seed, sometimes under another key, none, or misplaced.

    The homes change every thousand records, because absurd records close a home or carry it too far ahead.
    """
    draw = np.random.default_rng(seed)
    for nth, (value, _) in enumerate(hostile(draw, count)):
        home = b'"home-%d-%d"' % (nth // 1000, draw.integers(HOMES))
        value = None if value is None else re.sub(b'"(?:home-1|home-2)"', home, value)  # noqa: PLW2901
        named = re.search(b'"series": ?"([^"]*)"', (value or b"")[:1000])
        key: bytes | None = named[1] if named is not None else home
        chance, partition = float(draw.random()), partition_of(key, partitions)
        if chance < 0.03:
            key = None if value is not None else b""  # aiokafka sends no record that is nothing at all
        elif chance < 0.06:
            key = draw.bytes(int(draw.integers(0, 40)))
        elif chance < 0.09:
            partition = int(draw.integers(partitions))
        headers = (("input", b"999999999"), ("", draw.bytes(8))) if chance > 0.95 else ()
        yield Sent(key, value, partition, headers)
