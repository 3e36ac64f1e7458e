"""Series with a small budget decided together with others with a large one: each has its own spend's noise."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pytest

from stream_app.deciding.rows import SeriesRow
from stream_app.kafka.owner.cache import RowReader
from stream_app.privacy.noise import draws
from stream_app.privacy.noise.mechanisms import discrete_laplace_by
from stream_app.privacy.state import NEVER
from stream_app.verify.experiment import Experiment
from stream_app.verify.trial import derived, seen_of
from stream_app.verify.verdict import PairResult, verdict
from tests.run import NUMBER, UNIFORM
from tests.verify.faults import patched
from tests.verify.tried import SECRET, pair_of, protected, row_of

RUNS: Final = 3000
TIMES: Final = 8
"""How many times larger the large budget is."""
_TAKE: Final = RowReader.take


def _taken(reader: RowReader, rows: Mapping[str, SeriesRow]) -> None:
    """Take rows, and give the large budget to every second row that begins."""
    found = dict(rows)
    for name in list(found)[1::2]:
        row = found[name]
        if row.state.clock.last_step == NEVER:
            guard = row.state.guard._replace(budget_nano=TIMES * row.state.guard.budget_nano)
            found[name] = replace(row, state=replace(row.state, guard=guard))
    _TAKE(reader, found)


def in_company(row: SeriesRow) -> PairResult:
    """Return what the small-budget series show of a step that is decided together with all others."""
    pair, seen = pair_of(row, "a step after two other steps"), {}
    with patched(RowReader, take=_taken)(row):
        for side in (0, 1):
            secrets = [derived(SECRET, side, run) for run in range(2 * RUNS)]
            both = seen_of(row, pair, side, secrets)
            assert both[1::2, 1].tolist() == [TIMES * spend_nano for spend_nano in both[::2, 1].tolist()]
            seen[0, False, side] = both[::2]
    (result,) = verdict(Experiment(row, None, (pair,), SECRET), seen).results
    return result


@pytest.fixture
def row() -> SeriesRow:
    """Return the row with which series of the small budget begin."""
    return row_of(protection=protected("event"), scheme=UNIFORM, value=NUMBER)


def test_a_small_budget_tells_no_more_among_large_ones(row: SeriesRow) -> None:
    """The bound comes close to the budget, and does not exceed it."""
    result = in_company(row)
    assert 1.3 < result.measured.shown <= result.declared


def test_noise_of_the_row_before_is_found(row: SeriesRow) -> None:
    """Each spend draws the noise that its neighbour pays for: small budgets get the noise of large ones."""

    def rolled(words: Any, paid: Any, rate: int) -> Any:
        return discrete_laplace_by(words, np.roll(paid, 1), rate)

    with patched(draws, discrete_laplace_by=rolled)(row) as faulty:
        assert in_company(faulty).broken
