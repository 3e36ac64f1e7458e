"""``left`` of a ledger with members: the budget shared by all series of a person covers both topics."""

from dataclasses import replace

import orjson

from stream_app.accounting.left import Remains
from stream_app.accounting.starts import faults
from stream_app.deciding.context import Context, Limits
from stream_app.privacy.noise.key import KeyRing
from tests.run import KEYS, Run, limited, observation
from tests.run import policy as numbers

E = 10**9
MEMBERS = Limits(member_separator="/", lifetime_nano=2 * E, member_nano=5 * E)
ANEW = replace(MEMBERS, lifetime_nano=None)
NEW = KeyRing("fedcba9876543210", 0, bytes(range(1, 33)))


def policy(series: str, version: int = 1, **members: object) -> dict[str, object]:
    """Return a policy whose budget one step cannot use up."""
    return numbers(series, version, **({"epsilon": 0.25, "protection": {"level": "event"}} | members))


def cap(member: str, epsilon: float) -> dict[str, object]:
    """Return the record of a member's cap."""
    return {"type": "member", "member": member, "epsilon": epsilon}


def used(run: Run) -> dict[str, int]:
    """Return what each series has used over all its versions."""
    return {series: row.state.promise.prior_nano + row.state.guard.used_nano for series, row in run.rows.items()}


def lived() -> Run:
    """Return a log of a capped member, with a closed series, and of a member capped by the settings."""
    run = Run(Context(KEYS, limits=MEMBERS))
    run.feed_all([cap("p", 4.5), policy("p/a"), policy("p/b", lifetime=1.0), policy("p/c", lifetime=1.5)])
    run.feed_all(observation(f"p/{name}", 1, 5) for name in "abc")
    run.feed_all([{"type": "close", "series": "p/c"}, policy("q/a"), observation("q/a", 1, 5), policy("q/b")])
    return run


def anew(run: Run, limits: Limits) -> Run:
    """Return the run of new topics that start with what is left."""
    remains = Remains(MEMBERS.lifetime_nano)
    remains.take(run.ledger)
    found = list(remains.left())
    assert not list(faults(found, limits, 0))
    return Run(Context(NEW, limits=limits)).feed_all(record for one in found for record in one.records)


def test_the_cap_holds_over_both() -> None:
    """Versions that use all that is left, and new series that use all the cap leaves, never exceed the old cap."""
    old = lived()
    new = anew(old, ANEW)
    assert [orjson.loads(reject)["reason"] for reject in new.rejects] == []
    for series in ("p/a", "p/b", "q/a", "q/b"):
        for version in range(4, 60):
            new.feed(policy(series, version, epsilon=0.05))
            new.feed(observation(series, 10 + version, 5))
        assert used(old)[series] + used(new)[series] <= old.rows[series].state.promise.claim_nano  # type: ignore[operator]
    for nth in range(60):
        new.feed(policy(f"p/new-{nth}", epsilon=0.05, lifetime=0.05))
        new.feed(observation(f"p/new-{nth}", 1, 5))
    together = sum(nano for run in (old, new) for series, nano in used(run).items() if series.startswith("p/"))
    assert together <= 4.5 * E
    assert (
        new.members["p/"].claimed_nano
        == new.members["p/"].cap_nano
        == 9 * E // 2 - used(old)["p/a"] - used(old)["p/b"] - 3 * E // 2
    )
    assert new.members["q/"].cap_nano == 3 * E, "a series without a step claims no more than its epsilon anew"


def test_nothing_left_of_a_cap() -> None:
    """A member whose closed series claimed the whole cap gets a cap of zero; no series of theirs can restart."""
    run = Run(Context(KEYS, limits=MEMBERS)).feed_all([cap("p", 1.0), policy("p/a", lifetime=1.0)])
    run.feed({"type": "close", "series": "p/a"})
    new = anew(run, ANEW)
    assert new.members["p/"].cap_nano == 0
    new.feed(policy("p/b", epsilon=1e-9))
    assert [orjson.loads(reject)["reason"] for reject in new.rejects] == ["member-cap"]


def test_series_come_under_members() -> None:
    """Series from before there were members claim what they have left."""
    old = Run(limited(lifetime_nano=2 * E)).feed_all([policy("p/a"), observation("p/a", 1, 5)])
    new = anew(old, ANEW)
    assert new.members["p/"].claimed_nano == 2 * E - used(old)["p/a"]
