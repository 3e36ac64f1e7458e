"""``left`` of a ledger with views: a person's possible loss over both topics stays within their cap."""

from dataclasses import replace

import orjson
import pytest

from stream_app.accounting.left import Remains
from stream_app.accounting.starts import faults
from stream_app.deciding.context import Context, DefaultPolicy, Limits
from stream_app.privacy.noise.key import KeyRing
from tests.deciding.views.logs import BASE, DAY, MEAN, UNIT
from tests.run import KEYS, Run, default
from tests.units import reading

E = 10**9
LIMITS = Limits(member_separator="/", member_nano=4 * E)
NEW = KeyRing("fedcba9876543210", 0, bytes(range(1, 33)))


def defaults(level: str, epsilon: float) -> tuple[DefaultPolicy, DefaultPolicy]:
    """Return the policies of a base and of a view with that epsilon."""
    shared = {"level": level, **({"spare": 1} if level == "landmark" else {})}
    first = default("p-*/sugar", protection={**shared, "step": UNIT})
    daily = {**shared, "step": 8, "unit": UNIT, "open_steps": 1}
    return first, replace(default("p-*/sugar", epsilon=epsilon, protection=daily, value=MEAN), view="day")


@pytest.mark.parametrize("level", ["landmark", "event"])
def test_a_view_begins_again_with_what_is_left(level: str) -> None:
    """Its records would make it an ordinary series, so it gets none.

    Steps may come again, so both topics' spends add up at every level.
    """
    limits = replace(LIMITS, lifetime_nano=3 * E // 2)
    old = Run(Context(KEYS, defaults(level, 1.0), limits)).feed_all(reading(at, 5, BASE) for at in range(0, 60, UNIT))
    remains = Remains(limits.lifetime_nano)
    remains.take(old.ledger)
    found = {one.series: one for one in remains.left()}
    assert not list(faults(found.values(), LIMITS, 0))
    assert found[BASE].records
    assert (found[DAY].records, found[DAY].by_hand, found[DAY].epsilon_nano) == ((), True, E // 2)
    assert str(found[DAY]).startswith(f"{DAY}: a view with epsilon 0.5 remaining")
    new = Run(Context(NEW, limits=LIMITS)).feed_all(record for one in found.values() for record in one.records)
    new.context = Context(NEW, defaults(level, 0.5)[1:], LIMITS)
    new.feed_all(reading(at, 5, BASE) for at in range(60, 120, UNIT))
    reasons = {(one["series"], one["reason"]) for one in map(orjson.loads, new.rejects)}
    assert reasons == {(DAY, "late")}, "its first step began before the series did"
    used = [row.state.promise.prior_nano + row.state.guard.used_nano for row in (old.rows[DAY], new.rows[DAY])]
    assert used[1]
    assert sum(used) <= 3 * E // 2
    claims = new.members["p-17/"].claimed_nano
    assert claims + used[0] + old.rows[BASE].state.guard.used_nano <= 4 * E
