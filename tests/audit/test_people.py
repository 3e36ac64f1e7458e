"""Members decided by the worker's fold and audited: drawn logs hold, sums are literal, forgeries are found."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_app.audit.standing.inquiry import StandingInquiry
from tests.audit.histories import policies
from tests.audit.ways import audit, codes
from tests.audit.written import NANO, Record, Written, renumber
from tests.run import Run, limited
from tests.suite.speeds import scaled

SEPARATOR = "/"
IDS = ("p/a", "p/b", "p/c/d", "q/a", 'q/"', "r", "ç/x")
LOGS = settings(max_examples=scaled(60), suppress_health_check=[HealthCheck.too_slow])


@st.composite
def logs(draw: st.DrawFn) -> Run:
    """Return a log of several people: policies and versions with and without `lifetime`, caps, events, ends."""
    lifetime = draw(st.sampled_from((None, NANO, 3 * NANO)))
    run = Run(
        limited(
            lifetime_nano=lifetime,
            member_separator=SEPARATOR,
            member_nano=draw(st.sampled_from((None, NANO, 5 * NANO))),
            accept_weaker_policies=True,
        )
    )
    version: defaultdict[str, int] = defaultdict(int)
    step: dict[str, int] = {}
    now: defaultdict[str, int] = defaultdict(int)
    for _ in range(draw(st.integers(1, 40))):
        series = draw(st.sampled_from(IDS))
        chance = draw(st.integers(0, 9))
        record: Record
        if chance == 0:
            cap = draw(st.sampled_from((0.5, 1.0, 2.5, 5.0)))
            record = {"type": "member", "member": series.partition(SEPARATOR)[0], "epsilon": cap}
        elif series not in step or chance == 1:
            version[series] += 1
            record = draw(policies(series, version[series]))
            record["epsilon"] = draw(st.sampled_from((0.1, 0.3, 1.0)))
            record["weaker"] = True
            record |= draw(st.sampled_from(({}, {}, {"lifetime": 0.3}, {"lifetime": 1.5})))
        elif chance == 2:
            record = {"type": "close", "series": series}
        else:
            now[series] += step[series]
            record = {"series": series, "timestamp": now[series], "value": 3}
        before = len(run.rejects)
        run.feed(record, key=series.partition(SEPARATOR)[0].encode())
        if record.get("type") == "policy" and len(run.rejects) == before:
            step[series] = record["protection"]["step"]
    return run


def literally(entries: list[Record]) -> dict[str, tuple[int | None, int]]:
    """Return, by chain, each member's last cap, or None without one, and the sum of the member's claims."""
    found: dict[str, tuple[int | None, int]] = {}
    for entry in entries:
        chain = entry["series"].partition(SEPARATOR)[0] + SEPARATOR
        cap, claims = found.get(chain, (None, 0))
        if entry["entry"] == "member":
            cap = entry["cap_nano"]
        elif entry["entry"] == "policy" and entry["sequence"] == 1:
            claims += entry["lifetime_nano"]
        found[chain] = cap, claims
        assert cap is None or claims <= cap, "at every moment, in the order of the ledger"
    return found


@pytest.mark.slow
@LOGS
@given(logs(), st.data())
def test_a_decided_log_of_people_holds(run: Run, data: st.DataObject) -> None:
    """There is no finding in ledger order or any order that keeps each chain's; sums and standing are literal."""
    lifetime = run.context.limits.lifetime_nano
    report = audit(run.ledger, run.releases, lifetime)
    assert report.findings == ()
    entries = [orjson.loads(line) for line in run.ledger]
    chains = by_chain(entries)
    order = data.draw(st.permutations([name for name, chain in chains.items() for _ in chain.entries]))
    rest = {name: chain.lines() for name, chain in chains.items()}
    assert audit([rest[name].pop(0) for name in order], lifetime_nano=lifetime).findings == ()
    for chain, (cap, claims) in literally(entries).items():
        inquiry = StandingInquiry(chain[:-1], lifetime, SEPARATOR)
        inquiry.entries(run.ledger)
        found = inquiry.answer()
        assert found.findings == ()
        if found.member is not None:
            assert (found.member.cap_nano, found.member.claims_nano) == (cap, claims)
        for one in found.series:
            claim = chains[one.series].entries[0]["lifetime_nano"]
            assert one.used_nano <= claim == one.claim_nano


def by_chain(entries: list[Record]) -> dict[str, Written]:
    """Return the entries of each chain."""
    found: dict[str, Written] = {}
    for entry in entries:
        found.setdefault(entry["series"], Written([], [])).entries.append(entry)
    return found


@pytest.mark.slow
@settings(LOGS, max_examples=scaled(30))
@given(logs())
def test_forged_claims_and_caps_are_found(run: Run) -> None:
    """The forger rewrites a chain with all hashes; every claim and cap of a log is forged in every way."""
    lifetime = run.context.limits.lifetime_nano
    chains = by_chain([orjson.loads(line) for line in run.ledger])
    sums = literally([orjson.loads(line) for line in run.ledger])
    for name, written in chains.items():
        cap, claims = sums[name.partition(SEPARATOR)[0] + SEPARATOR]
        for place, change, code in forgeries(written.entries, cap, claims):
            forged = {each: other.copy() for each, other in chains.items()}
            forged[name].entries[place] = {
                member: value
                for member, value in (forged[name].entries[place] | change).items()
                if value is not None  # which takes the member away
            }
            renumber(forged[name])
            ledger = [line for other in forged.values() for line in other.lines()]
            assert code in codes(audit(ledger, lifetime_nano=lifetime)), (name, place, change)


def forgeries(entries: list[Record], cap: int | None, claims: int) -> Iterator[tuple[int, dict[str, Any], str]]:
    """Yield the place, change and code of every forgery of a chain, given its member's cap and claims."""
    first = entries[0]
    if first["entry"] == "policy":
        yield 0, {"lifetime_nano": first["budget_nano"] - 1}, "claim"
        if cap is not None:
            yield 0, {"lifetime_nano": first["lifetime_nano"] + cap - claims + 1}, "member-cap"
            yield 0, {"lifetime_nano": None}, "claim"
        return
    for place in range(len(entries)):
        if claims > 1:
            yield place, {"cap_nano": claims - 1}, "member-cap"
        if place:
            yield place, {"cap_nano": entries[place - 1]["cap_nano"] + 1}, "cap-raised"
