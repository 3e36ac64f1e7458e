"""What a series of units has left: the same policy restarts on its grid, with the landmark units to come."""

from typing import Any

from stream_app.accounting.left import Remains
from stream_app.accounting.starts import faults
from stream_app.deciding.context import Limits
from tests.run import Run, limited
from tests.units import landmarks, reading, units, watermark

LIMITS = Limits(lifetime_nano=10**9, accept_weaker_policies=True)


def left_of(log: list[dict[str, Any]]) -> Any:
    """Return what is left of the only series."""
    run = Run(limited(lifetime_nano=10**9)).feed_all(log)
    remains = Remains(10**9)
    remains.take(run.ledger)
    (found,) = remains.left()
    return found


def test_a_series_of_units_begins_anew_on_its_grid() -> None:
    """It restarts after the last step with an entry, which the fence withholds.

    Every record is accepted and measures nothing.
    """
    protection = {"level": "landmark", "landmarks": [[100, 104], 203], "offset": 6, "window": 3, "spare": 2}
    policy = units(protection=protection, epsilon=0.4, scheme={"name": "balanced"})
    log = [policy, reading(7, 1), reading(51, 2), watermark(46), reading(130, 3), landmarks(301)]
    found = left_of(log)
    *fence, anew = found.records
    assert len(fence) == 3
    assert found.begin_ms == 86, "the watermark at 46 was decided before the reading at 130"
    assert anew["protection"] == protection | {"step": 40, "unit": 2, "open_steps": 2} | {
        "landmarks": [[100, 104], 202, 300]
    }
    assert anew["value"] == policy["value"]
    assert 0 < anew["epsilon"] < 0.4
    assert list(faults([found], LIMITS, 10**13)) == []


def test_an_event_level_has_all_of_it_for_each_window() -> None:
    """Units are treated like single steps."""
    found = left_of([units(epsilon=0.4), reading(7, 1), watermark(40)])
    assert found.records[-1]["epsilon"] == 0.4
    assert list(faults([found], LIMITS, 10**13)) == []
