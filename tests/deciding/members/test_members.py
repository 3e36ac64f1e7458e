"""Members: claims, caps and their chains, in the decision of single records."""

from typing import Any

import orjson
import pytest

from stream_app.deciding.context import Context, Limits
from stream_app.deciding.members import MOST_SERIES, Member, load_member
from stream_app.deciding.outcome import ProcessedRecord, RejectedRecord
from stream_app.deciding.rebuild import rebuilt
from tests.audit.ways import audit
from tests.run import KEYS, Run, default, limited, observation, policy, reason

E = 10**9
COLLECTED: Any = {
    "value": {"kind": "counts", "keys": ["a"]},
    "collect": {"neighbours": "add-remove", "open_steps": 1},
}


def members(**limits: object) -> Context:
    """Return a context in which ids are ``member/name``."""
    return limited(member_separator="/", **limits)


def cap(member: str, epsilon: float) -> dict[str, object]:
    """Return the record of a member's cap."""
    return {"type": "member", "member": member, "epsilon": epsilon}


def test_first_policies_claim() -> None:
    """The lifetime, or the policy's smaller value, is in the first entry and nowhere else."""
    run = Run(members(lifetime_nano=3 * E, member_nano=5 * E))
    run.feed_all([policy("p-17/a"), policy("p-17/b", lifetime=1.5), policy("p-17/a", 2), observation("p-17/a", 1, 5)])
    cap_entry, first, second, version, _ = run.entries()
    assert list(cap_entry) == ["series", "sequence", "entry", "cap_nano", "key", "epoch", "previous", "hash"]
    assert (cap_entry["series"], cap_entry["cap_nano"], cap_entry["epoch"]) == ("p-17/", 5 * E, 0)
    assert list(first)[5:8] == ["charged_nano", "lifetime_nano", "parameters"]
    assert (first["lifetime_nano"], second["lifetime_nano"]) == (3 * E, 3 * E // 2)
    assert "lifetime_nano" not in version
    assert run.members["p-17/"][3:] == (5 * E, 9 * E // 2, 2)


def test_without_lifetime_the_first_epsilon_is_the_claim() -> None:
    """Later versions can only use what is left of it, whatever is configured by then."""
    run = Run(members())
    run.feed(policy("p/a", epsilon=0.5))
    assert run.members["p/"] == Member("p/", claimed_nano=E // 2, series=1)
    run.context = members(lifetime_nano=9 * E)
    assert reason(run.feed(policy("p/a", 2, epsilon=0.6))) == "budget-cap"
    assert reason(run.feed(policy("p/a", 2, epsilon=0.5))) is None
    run.context = members(lifetime_nano=E // 4)
    assert reason(run.feed(policy("p/a", 3, epsilon=0.5))) == "budget-cap"


@pytest.mark.parametrize("lifetime", [0.5, 1.5, 3.0, 4.0])
def test_lifetime_of_a_policy(lifetime: float) -> None:
    """Even without members, a policy's lifetime below the configured one limits the series forever."""
    run = Run(limited(lifetime_nano=3 * E))
    outcome = run.feed(policy("a", lifetime=lifetime))
    if lifetime < 1:
        assert reason(outcome) == "budget-cap"
        return
    assert run.entries()[0]["lifetime_nano"] == min(3 * E, int(lifetime * E))
    run.feed(observation("a", 1, 5))
    used = run.rows["a"].state.guard.used_nano
    run.context = limited(lifetime_nano=9 * E)
    left = min(3 * E, int(lifetime * E)) - used
    assert reason(run.feed(policy("a", 2, epsilon=(left + 1) / E))) == "budget-cap"
    assert reason(run.feed(policy("a", 2, epsilon=left / E, lifetime=0.1))) is None
    assert run.members == {}


def test_nothing_changes_without_the_settings() -> None:
    """No entry, row or fingerprint mentions members."""
    run = Run(limited(lifetime_nano=3 * E)).feed_all([policy("p/a"), observation("p/a", 1, 5)])
    assert "lifetime_nano" not in run.entries()[0]
    assert Context(KEYS, limits=Limits()).fingerprint != members().fingerprint
    assert members().fingerprint != members(member_nano=E).fingerprint


def test_claims_stay_within_the_cap() -> None:
    """A claim that passes the cap is refused whole; closed series return nothing."""
    run = Run(members(member_nano=2 * E))
    assert reason(run.feed(policy("p/a", epsilon=1.25))) is None
    assert reason(run.feed(policy("p/b"))) == "member-cap"
    run.feed({"type": "close", "series": "p/a"})
    assert reason(run.feed(policy("p/b"))) == "member-cap"
    assert reason(run.feed(policy("p/b", epsilon=0.75))) is None
    assert reason(run.feed(policy("p", epsilon=1e-9))) == "member-cap", "an id without separator is its own member"
    assert reason(run.feed(policy("q/a"))) is None
    assert "p/b" in run.rows
    assert "p" not in run.rows


def test_budget_cap_comes_before_member_cap() -> None:
    """A policy whose own epsilon exceeds the configured limits is refused for that, not for the member's cap."""
    run = Run(members(member_nano=E // 2, lifetime_nano=E, max_epsilon_nano=2 * E))
    assert reason(run.feed(policy("p/a", epsilon=3.0))) == "budget-cap"
    assert reason(run.feed(policy("p/a", epsilon=1.5))) == "budget-cap"
    assert reason(run.feed(policy("p/a", epsilon=0.5))) == "member-cap", "it claims the lifetime"
    assert reason(run.feed(policy("p/a", epsilon=0.5, lifetime=0.5))) is None


def test_number_of_series() -> None:
    """The 1,001st series of a member is refused, with a cap or without."""
    run = Run(members())
    assert all(reason(run.feed(policy(f"p/{nth}"))) is None for nth in range(MOST_SERIES))
    assert reason(run.feed(policy("p/more"))) == "member-cap"
    assert reason(run.feed(policy("q/more"))) is None


def test_default_policies_claim_too() -> None:
    """A series under a default policy claims with its first event, and both are refused together."""
    context = Context(KEYS, (default("*"),), Limits(member_separator="/", member_nano=E))
    run = Run(context).feed_all([observation("p/a", 1, 5), observation("p/b", 1, 5)])
    assert [entry["entry"] for entry in run.entries()] == ["member", "policy", "release"]
    assert [orjson.loads(reject)["reason"] for reject in run.rejects] == ["member-cap"]


CAPS: list[tuple[float, str | None]] = [
    (4.0, "budget-cap"),  # above member_epsilon
    (2.5, None),
    (2.6, "member-cap"),  # raised
    (2.5, "duplicate"),
    (0.9, "member-cap"),  # below the claims
    (1.0, None),
]


def test_caps_of_records() -> None:
    """A record sets a cap, and can lower it down to the claims."""
    run = Run(members(member_nano=3 * E))
    for epsilon, expected in CAPS:
        if epsilon == 2.6:
            run.feed(policy("p/a"))
        assert reason(run.feed(cap("p", epsilon))) == expected, epsilon
    chain = [entry for entry in run.entries() if entry["entry"] == "member"]
    assert [entry["cap_nano"] for entry in chain] == [5 * E // 2, E]
    assert [entry["sequence"] for entry in chain] == [1, 2]
    assert chain[1]["previous"] == chain[0]["hash"]
    assert reason(run.feed(policy("p/b", epsilon=1e-9))) == "member-cap"


@pytest.mark.parametrize("limits", [{}, {"member_nano": 3 * E, "lifetime_nano": E}])
def test_a_cap_of_zero(limits: dict[str, int]) -> None:
    """A zero cap is not a missing one: nothing of that member can begin, and rows and audit keep the cap."""
    run = Run(members(**limits))
    assert reason(run.feed(cap("p", 0))) is None
    assert run.members["p/"].cap_nano == 0
    assert reason(run.feed(cap("p", -0.0))) == "duplicate"
    assert reason(run.feed(cap("p", 1e-9))) == "member-cap"
    assert reason(run.feed(policy("p/a", epsilon=1e-9))) == "member-cap"
    assert reason(run.feed(policy("q/a"))) is None
    assert reason(run.feed(cap("q", 0))) == "member-cap", "below the claims"
    assert load_member(dict([run.members["p/"].dump()]).get, "p/") == run.members["p/"]
    assert rebuilt(run.context, run.ledger, run.releases).members == run.members
    assert audit(run.ledger, releases=run.releases).holds


def test_later_settings_change_no_cap() -> None:
    """A member that claimed without a cap stays without one until a record sets it; one with a cap keeps it."""
    run = Run(members()).feed_all([policy("p/a")])
    run.context = members(member_nano=E)
    assert reason(run.feed(policy("p/b"))) is None
    assert reason(run.feed(policy("q/a"))) is None
    run.context = members(member_nano=9 * E)
    assert reason(run.feed(policy("q/b"))) == "member-cap"
    run.context = members()
    assert reason(run.feed(cap("p", 1.0))) == "member-cap"
    assert reason(run.feed(cap("p", 2.0))) is None


MISNAMED = {"malformed": ["/a", "p/", "p/a/", "/"], "too-large": ["x" * 200]}


@pytest.mark.parametrize(("expected", "series"), [(key, name) for key, names in MISNAMED.items() for name in names])
def test_names(expected: str, series: str) -> None:
    """Ids with an empty part or a chain's name are not series names; without a separator they are."""
    record = policy(series)
    assert reason(Run(members()).feed(record)) == expected
    assert reason(Run().feed(record)) is None
    assert reason(Run(members()).feed(policy("x" * 199))) is None


REFUSED_CAPS: list[tuple[Context, object, str, bytes | None]] = [
    (Context(KEYS), cap("p", 1), "malformed", b"p"),
    (members(), cap("p/", 1), "malformed", b"p/"),
    (members(), cap("p", -1e-9), "malformed", b"p"),
    (members(), cap("p", 1e-10), "malformed", b"p"),
    (members(), {"type": "member", "member": "p", "epsilon": True}, "malformed", b"p"),
    (members(), {"type": "member", "member": "p"}, "malformed", b"p"),
    (members(), {"type": "member", "series": "p", "epsilon": 1}, "malformed", None),
    (members(), cap("x" * 201, 1), "too-large", None),
    (members(), cap("x" * 200, 1), "too-large", b"x" * 200),
    (members(accept_policies=False), cap("p", 1), "invalid-policy", b"p"),
    (members(accept_policies=False, member_nano=1), cap("p", 1), "invalid-policy", b"p"),
]


@pytest.mark.parametrize(("context", "record", "expected", "key"), REFUSED_CAPS)
def test_refused_caps(context: Context, record: object, expected: str, key: bytes | None) -> None:
    """The reject of a cap has no series, and the member as its key."""
    run = Run(context)
    outcome = run.feed(orjson.dumps(record))
    assert isinstance(outcome, RejectedRecord)
    assert (outcome.reason, outcome.key) == (expected, key)
    assert orjson.loads(outcome.value)["series"] is None
    assert run.ledger == []


def test_routing() -> None:
    """Events are keyed by the member; a series whose row is known is no exception."""
    context = Context(KEYS, limits=Limits(member_separator="/"), partition_of=lambda key: 0 if key == b"p" else 1)
    run = Run(context)
    assert reason(run.feed(policy("p/a"), key=b"p/a")) == "misrouted"
    assert reason(run.feed(policy("p/a"), key=b"p")) is None
    assert reason(run.feed(observation("p/a", 1, 5), key=b"p/a")) == "misrouted"
    assert reason(run.feed(observation("p/a", 1, 5), key=b"p")) is None
    assert reason(run.feed(policy("q/a"), key=b"q")) == "misrouted"
    assert reason(run.feed(cap("p", 3), key=b"q")) == "misrouted"
    assert reason(run.feed(cap("q", 3), key=b"q")) == "misrouted"
    assert reason(run.feed(cap("p", 3), key=b"p")) is None
    assert run.rows["p/a"].key == b"p/a"


def test_collected_series() -> None:
    """They claim nothing, belong to no member of several series, and stay collected."""
    run = Run(members(member_nano=E, accept_weaker_policies=True))
    assert reason(run.feed(policy("p/cell", **COLLECTED))) == "invalid-policy"
    assert reason(run.feed(policy("cell", epsilon=5.0, **COLLECTED))) is None
    assert "lifetime_nano" not in run.entries()[0]
    assert run.members == {}
    assert reason(run.feed(policy("cell", 2, epsilon=1.0, weaker=True))) == "invalid-policy"
    assert reason(run.feed(policy("p/a"))) is None
    assert reason(run.feed(policy("p/a", 2, weaker=True, **COLLECTED))) == "invalid-policy"


def test_dummies_join_once() -> None:
    """A policy with a draw has its member's entry before its own two entries."""
    dummies = {"method": "padding", "probability": 0.5, "start": 0, "end": 9}
    run = Run(members(member_nano=2 * E))
    outcome = run.feed(policy("p/a", protection={"level": "landmark", "landmarks": [1]}, dummies=dummies))
    assert isinstance(outcome, ProcessedRecord)
    assert outcome.joined is not None
    assert [entry["entry"] for entry in run.entries()] == ["member", "policy", "dummies"]
