"""Members in rows: as they are stored, and as a ledger gives them back."""

import orjson
import pytest

from stream_app.deciding import rows
from stream_app.deciding.members import load_member
from stream_app.deciding.rebuild import RebuildError, rebuilt
from tests.audit.ways import audit
from tests.deciding.members.test_members import COLLECTED, E, cap, members
from tests.run import Run, limited, observation, policy


def lived(**limits: object) -> Run:
    """Return a log with set, lowered and missing caps, refused claims, and versions."""
    run = Run(members(lifetime_nano=2 * E, accept_weaker_policies=True, **limits))
    run.feed_all([cap("p", 5), policy("p/a"), policy("p/b", lifetime=1.0), observation("p/a", 1, 5), cap("p", 3.5)])
    run.feed_all([policy("p/c"), policy("p/c", lifetime=0.5, epsilon=0.5), policy("p/a", 2), policy("q")])
    run.feed_all([observation("p/b", 1, 5), policy("cell", epsilon=0.5, **COLLECTED), policy("q/a")])
    return run


@pytest.mark.parametrize("limits", [{}, {"member_nano": 5 * E}])
def test_ledger_alone_tells_members(limits: dict[str, int]) -> None:
    """The rows of series and members equal those of the run, and an audit finds nothing."""
    run = lived(**limits)
    told = rebuilt(run.context, run.ledger, run.releases)
    assert (told.rows, told.members) == (run.rows, run.members)
    stored = dict(member.dump() for member in run.members.values())
    assert {chain: load_member(stored.get, chain) for chain in run.members} == run.members
    assert audit(run.ledger, run.releases, lifetime_nano=2 * E).findings == ()


def test_claims_in_rows() -> None:
    """A claim is field 28 of a row, after defaults of missing fields; a row without a claim ends earlier."""
    run, plain = lived(), Run().feed_all([policy("a")])
    for series, row in run.rows.items():
        stored = dict(rows.dump(row, None, set()))
        assert rows.load(stored.get, series, {}) == row
        fields = orjson.loads(stored[b"s" + row.key])
        claim = row.state.promise.claim_nano
        assert (len(fields) > 27 and fields[27]) == (False if claim is None else claim)
    assert len(orjson.loads(dict(rows.dump(plain.rows["a"], None, set()))[b"sa"])) == 20


def test_rebuild_under_another_separator() -> None:
    """A ledger shows whether it was written with members; rows are not built from it under a different setting."""
    run, plain = lived(), Run().feed_all([policy("p/a")])
    for context, ledger in (
        (limited(), run.ledger),
        (limited(member_separator=":"), run.ledger),
        (limited(), lived().ledger[1:]),
        (members(), plain.ledger),
    ):
        with pytest.raises(RebuildError, match=r"member_separator|does not follow"):
            rebuilt(context, ledger, run.releases)
