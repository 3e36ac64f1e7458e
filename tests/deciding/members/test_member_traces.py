"""Members over random traces: the sum of usage, from releases and entries alone, stays within the cap."""

from collections import defaultdict
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from stream_app.deciding.context import Context, Limits
from stream_app.deciding.rebuild import rebuilt
from tests.audit.ways import audit
from tests.run import KEYS, Record, Run, default, observation, policy

E = 10**9
STEPS = 24
EPSILONS = (0.1, 0.25, 0.4, 1.0)
LIMITS = Limits(lifetime_nano=E, accept_weaker_policies=True, member_separator="/", member_nano=2 * E)

series = st.sampled_from(["p/a", "p/b", "p/c", "p", "q/a", "p/default", "q/default", "/p", "p/"])
landmarks = st.lists(st.integers(0, STEPS), max_size=5).map(sorted)
protections: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.builds(
        lambda marks, spare: {"level": "landmark", "landmarks": marks, "spare": spare}, landmarks, st.integers(0, 2)
    ),
    st.builds(lambda length: {"level": "user", "length": length}, st.integers(1, 9)),
    st.builds(lambda window: {"level": "w-event", "window": window}, st.integers(1, 4)),
    st.just({"level": "event"}),
)
policies = st.builds(
    lambda name, version, epsilon, lifetime, protection: policy(
        name,
        version,
        epsilon=epsilon,
        protection=protection,
        weaker=True,
        **({} if lifetime is None else {"lifetime": lifetime}),
    ),
    series,
    st.integers(1, 6),
    st.sampled_from(EPSILONS),
    st.none() | st.sampled_from((0.3, 0.5, 0.8, 3.0)),
    protections,
)
records: st.SearchStrategy[Record] = st.one_of(
    policies,
    policies,
    st.builds(observation, series, st.integers(0, STEPS), st.integers(0, 10)),
    st.builds(observation, series, st.integers(0, STEPS), st.integers(0, 10)),
    st.builds(lambda name, at: {"type": "landmarks", "series": name, "add": [at]}, series, st.integers(0, STEPS)),
    st.builds(
        lambda member, epsilon: {"type": "member", "member": member, "epsilon": epsilon},
        st.sampled_from(["p", "q", "p/a"]),
        st.sampled_from((0.5, 0.9, 1.3, 1.7, 2.5)),
    ),
    st.builds(lambda name: {"type": "close", "series": name}, series),
)
DEFAULT = default("*/default", epsilon=0.25, protection={"level": "landmark", "landmarks": [3, 9], "spare": 1})


def together(spends: dict[int, int], level: str, marks: set[int], window: int) -> int:
    """Return the total of a version's spends: all landmarks, plus the largest window of other steps."""
    if level == "user":
        return sum(spends.values())
    on_marks = sum(nano for step, nano in spends.items() if level == "landmark" and step in marks)
    rest = {step: nano for step, nano in spends.items() if level != "landmark" or step not in marks}
    return on_marks + max((sum(rest.get(step + ahead, 0) for ahead in range(window)) for step in rest), default=0)


def losses(run: Run) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """Return each series' total over all versions and its claim, and each member's last cap, by separate sums."""
    spends: dict[tuple[str, int], dict[int, int]] = defaultdict(dict)
    for line in run.releases:
        release = orjson.loads(line)
        spends[release["series"], release["policy"]][release["timestamp"]] = release.get("epsilon_nano", 0)
    claims: dict[str, int] = {}
    caps: dict[str, int] = {}
    forms: dict[tuple[str, int], tuple[str, set[int], int]] = {}
    for line in run.ledger:
        entry = orjson.loads(line)
        name = entry["series"]
        if entry["entry"] == "member":
            assert entry["cap_nano"] < caps.get(name[:-1], 10**18)
            caps[name[:-1]] = entry["cap_nano"]
        elif entry["entry"] == "policy":
            protection = entry["parameters"]["protection"]
            form = (protection["level"], set(protection.get("landmarks", ())), protection.get("window", 1))
            forms[name, entry["policy"]] = form
            if entry["sequence"] == 1:
                claims[name] = entry["lifetime_nano"]
        elif entry["entry"] == "landmarks":
            forms[name, entry["policy"]][1].update(start for start, _ in entry["add"])
    totals: dict[str, int] = defaultdict(int)
    for (name, version), (level, marks, window) in forms.items():
        totals[name] += together(spends[name, version], level, marks, window)
    return totals, claims, caps


@given(st.lists(records, min_size=5, max_size=60))
def test_no_trace_passes_a_cap(log: list[Record]) -> None:
    """For any log, uses end within claims and claims within caps; rows follow from the ledger, which audits."""
    run = Run(Context(KEYS, (DEFAULT,), LIMITS)).feed_all(log)
    totals, claims, caps = losses(run)
    for member in {name.partition("/")[0] for name in claims}:
        own = {name: nano for name, nano in claims.items() if name.partition("/")[0] == member}
        assert sum(own.values()) <= caps[member] <= 2 * E
        assert all(totals[name] <= nano for name, nano in own.items())
    told = rebuilt(run.context, run.ledger, run.releases)
    assert (told.rows, told.members) == (run.rows, run.members)
    assert audit(run.ledger, run.releases, lifetime_nano=E).findings == ()


@given(st.lists(records, min_size=20, max_size=60), st.integers(0, 60))
def test_a_crash_forgets_no_claim(log: list[Record], cut: int) -> None:
    """Rows rebuilt midway from ledger and releases decide the rest byte for byte."""
    whole = Run(Context(KEYS, (DEFAULT,), LIMITS)).feed_all(log)
    before = Run(whole.context).feed_all(log[:cut])
    told = rebuilt(before.context, before.ledger, before.releases)
    after = Run(whole.context)
    after.rows, after.members, after.offset = told.rows, told.members, before.offset
    after.feed_all(log[cut:])
    assert [one + two for one, two in zip(before.outputs, after.outputs, strict=True)] == list(whole.outputs)
