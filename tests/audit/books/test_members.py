"""Members: claims compared with caps in hand-written ledgers, with series and member chains in any mix."""

from collections.abc import Callable, Iterable

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_app.audit import Auditor
from stream_app.audit.report.report import Report
from tests.audit.heads.signed import Signer, Story, attest
from tests.audit.ways import audit, codes
from tests.audit.written import KEY, Record, Written, renumber, seal, write
from tests.suite.speeds import scaled

POLICY = 'policy 1 {"epsilon": %s, "scheme": {"name": "uniform"}, "landmarks": [2000]}'
MIXED = settings(max_examples=scaled(100), suppress_health_check=[HealthCheck.too_slow])


def series(name: str, claim: int | None, epsilon: str = "1e-8", **parameters: object) -> Written:
    """Return a series of one policy with 10 nano-epsilon by default, and two spends of half its epsilon."""
    written = write(POLICY % epsilon + "\n1 perturbed . 5 | 0 1 5\n2 perturbed L 5 | 5 0 5\nclose", name)
    if epsilon != "1e-8":
        del written.entries[1:], written.releases[:]
    written.entries[0]["parameters"] |= parameters
    return claimed(written, claim)


def claimed(written: Written, claim: int | None, index: int = 0) -> Written:
    """Return a series with a claim in its entry at an index, after `charged_nano`."""
    if claim is not None:
        entry = written.entries[index]
        names = list(entry)
        names.insert(names.index("charged_nano") + 1, "lifetime_nano")
        written.entries[index] = {name: entry.get(name, claim) for name in names}
    return seal(written)


def member(chain: str, *caps: int) -> Written:
    """Return the chain of a member with its caps."""
    end = {"key": KEY, "epoch": 0, "previous": "", "hash": ""}
    return renumber(
        Written([{"series": chain, "sequence": 0, "entry": "member", "cap_nano": cap, **end} for cap in caps], [])
    )


def lines(*chains: Written) -> list[bytes]:
    """Return the ledger of these chains, one after another."""
    return [line for chain in chains for line in chain.lines()]


def person(*more: Written, cap: int = 30) -> list[bytes]:
    """Return the ledger of a member whose whole cap is claimed by two series, followed by more chains."""
    return lines(member("p/", cap), series("p/glucose", 20), series("p/place", 10), *more)


def told(report: Report) -> list[tuple[str, str, str]]:
    """Return the findings without their numbers."""
    return [(finding.code, finding.series, finding.message) for finding in report.findings]


def test_a_true_ledger_holds() -> None:
    """All of a cap may be claimed, and a series without the separator is its own member.

    The chains of members are not series.
    """
    auditor = Auditor()
    auditor.entries(person(member("q/", 10), series("q", 10), series("r", 99)))
    report = auditor.finish()
    assert report.findings == ()
    assert report.series == 4
    assert {loss.series for loss in auditor.losses()} == {"p/glucose", "p/place", "q", "r"}
    assert report.document()["members"] == {
        "separator": "/",
        "claims": 4,
        "capped": 2,
        "fullest": "p",
        "fullest_cap_nano": 30,
        "fullest_claims_nano": 30,
    }
    assert "4 series reserve amounts, 2 people have a limit\n" in report.text()
    assert "largest reserved share of a limit: epsilon 0.00000003 of epsilon 0.00000003 (p)\n" in report.text()


@pytest.mark.parametrize("order", [1, -1])
def test_a_cap_of_zero_is_a_cap(order: int) -> None:
    """It holds and is counted; nothing is claimed from it, so it is not the cap with the largest claimed share."""
    chains = [member("p/", 0), member("q/", 30), series("q/a", 10), member("r/", 0)]
    found = audit(lines(*chains[::order]))
    assert found.holds
    assert found.document()["members"] | {"separator": "/", "claims": 1} == {
        "separator": "/",
        "claims": 1,
        "capped": 3,
        "fullest": "q",
        "fullest_cap_nano": 30,
        "fullest_claims_nano": 10,
    }
    assert audit(lines(chains[0])).document()["members"]["fullest_cap_nano"] == 0


def test_a_ledger_without_members_says_nothing_of_them() -> None:
    """They appear neither in the text nor in the document, which other programs parse."""
    report = audit(lines(series("p/glucose", None)))
    assert report.holds
    assert "members" not in report.document()
    assert "reserve" not in report.text()


@MIXED
@given(st.data())
def test_sums_as_they_are_by_their_definition(data: st.DataObject) -> None:
    """With random falling caps, claims and mixes of chains, findings are exactly those of the definition.

    In the definition, entries are in the order in which a worker wrote them, and at every moment the claims so far are
    at most the cap so far. The auditor gets a different mix.
    """
    names = data.draw(st.lists(st.sampled_from([f"{who}/{what}" for who in "pq" for what in "abcd"]), unique=True))
    chains = [series(name, data.draw(st.integers(10, 30))) for name in names]
    for who in "pq":
        caps = sorted(data.draw(st.lists(st.integers(20, 90), max_size=3, unique=True)), reverse=True)
        if caps:
            chains.append(member(f"{who}/", *caps))
    report = audit(mixed(data, chains))
    first = {finding.series.partition("/")[0] for finding in report.findings}
    assert codes(report) <= {"member-cap"}
    entries = [entry for chain in chains for entry in chain.entries]
    for who in "pq":
        mine = [entry for entry in entries if entry["series"].startswith(f"{who}/")]
        caps = [entry["cap_nano"] for entry in mine if entry["entry"] == "member"]
        claims = sum(entry.get("lifetime_nano", 0) for entry in mine)
        assert (who in first) == (bool(caps) and claims > min(caps))


def mixed(data: st.DataObject, chains: Iterable[Written]) -> list[bytes]:
    """Return the lines of chains in a drawn order that keeps each chain's own order."""
    rest = [chain.lines() for chain in chains]
    order = data.draw(st.permutations([place for place, chain in enumerate(rest) for _ in chain]))
    return [rest[place].pop(0) for place in order]


FAULTS: dict[str, tuple[Callable[[], list[bytes]], tuple[str, str, str]]] = {
    "sum": (
        lambda: person(series("p/sleep", 10)),
        ("member-cap", "p/sleep", "3 series reserve 0.00000004, more than the limit of 0.00000003"),
    ),
    "cap-below": (
        lambda: person(cap=29),
        ("member-cap", "p/place", "2 series reserve 0.00000003, more than the limit of 0.000000029"),
    ),
    "cap-lowered-below": (
        lambda: lines(series("p/a", 20), series("p/b", 20), member("p/", 50, 39)),
        ("member-cap", "p/", "2 series reserve 0.00000004, more than the limit of 0.000000039"),
    ),
    "series-above-none": (
        lambda: lines(member("p/", 0), series("p/a", 10)),
        ("member-cap", "p/a", "1 series reserve 0.00000001, more than the limit of 0.0"),
    ),
    "raised-from-none": (
        lambda: lines(member("p/", 0, 1)),
        ("cap-raised", "p/", "raises the limit from 0.0 to 0.000000001"),
    ),
    "raised": (
        lambda: lines(member("p/", 20, 30), series("p/a", 10)),
        ("cap-raised", "p/", "raises the limit from 0.00000002 to 0.00000003"),
    ),
    "claim-below-epsilon": (
        lambda: lines(series("p/a", 9)),
        ("claim", "p/a", "reserves 0.000000009; epsilon is 0.00000001"),
    ),
    "claim-above-lifetime": (
        lambda: lines(series("p/a", 31, lifetime=3e-8)),
        ("claim", "p/a", "reserves 0.000000031; epsilon is 0.00000001, `lifetime` 0.00000003"),
    ),
    "claim-without": (
        lambda: lines(series("p/a", None, lifetime=3e-8)),
        ("claim", "p/a", "reserves nothing, although its `lifetime` is 0.00000003"),
    ),
    "claim-missing": (
        lambda: person(series("p/c", None)),
        ("claim", "p/c", ("reserves nothing, although 'p' has a limit")),
    ),
    "claim-missing-before": (
        lambda: lines(series("p/c", None), series("p", None), member("p/", 9)),
        ("claim", "p/", "its series 'p/c' reserves nothing"),
    ),
    "series-in-chain": (
        lambda: lines(_behind(member("p/", 9), series("p/", 10))),
        ("member-chain", "p/", "is in a person's chain, which contains only limits"),
    ),
    "cap-in-series": (
        lambda: lines(_behind(_open(series("p/a", 10)), member("p/a", 9))),
        ("member-chain", "p/a", "a limit in the chain of a series"),
    ),
    "no-name": (
        lambda: lines(member("/", 9)),
        ("member-chain", "/", "the name of a person's chain must be the name of the person plus one character"),
    ),
    "separator-within": (
        lambda: lines(member("p/a/", 9)),
        ("member-chain", "p/a/", "the name of a person's chain must be the name of the person plus one character"),
    ),
    "separators": (
        lambda: lines(member("p/", 9), member("p:", 9)),
        ("member-chain", "p:", "ends in ':', but the chains of other people end in '/'"),
    ),
}


def _open(written: Written) -> Written:
    del written.entries[-1]
    return written


def _behind(first: Written, second: Written) -> Written:
    for entry in second.entries:
        entry["series"] = first.entries[0]["series"]
    return renumber(Written([*first.entries, *second.entries], []))


@pytest.mark.parametrize("fault", FAULTS)
def test_faults(fault: str) -> None:
    """Each fault is found at its entry and described in its own words."""
    ledger, finding = FAULTS[fault]
    assert finding in told(audit(ledger()))


@pytest.mark.parametrize("order", [0, 1])
def test_a_thousand_series(order: int) -> None:
    """The 1,001st series is found, whether the cap comes before or after the claims."""
    many = [series(f"p/{nth}", 10, "1.0e-8") for nth in range(1000)]
    cap = member("p/", 10**6)
    assert audit(lines(cap, *many) if order else lines(*many, cap)).holds
    report = audit(lines(cap, *many, series("p/more", 10)))
    assert told(report) == [("member-series", "p/more", "series number 1001 of 'p', who may have at most 1000 series")]


def test_versions_share_the_claim() -> None:
    """A later version may use the rest of the claim, whatever lifetime is named, and claims nothing itself."""
    later = 'policy 2 {"epsilon": %s, "scheme": {"name": "uniform"}, "landmarks": [5000]}'

    def version(epsilon: str, claim: int, index: int = 0) -> list[bytes]:
        text = f"{POLICY % '1e-8'}\n1 perturbed . 5 | 0 1 5\n{later % epsilon}"
        return lines(claimed(write(text, "p/a"), claim, index))

    assert audit(version("2.5e-8", 30)).holds
    assert codes(audit(version("2.6e-8", 30))) == {"lifetime"}
    assert "more than the series' claim of 0.00000003" in audit(version("2.6e-8", 30)).text()
    assert "a series may use what it reserved, or else its first epsilon" in audit(version("2.5e-8", 30)).text()
    assert audit(version("2.5e-8", 90), lifetime_nano=30).holds
    assert codes(audit(version("2.6e-8", 90), lifetime_nano=30)) == {"lifetime"}
    assert codes(audit(version("2e-9", 30, index=2))) == {"claim"}


def test_forged_claims() -> None:
    """Lowering a claim so that another one fits requires rewriting the chain, and then its versions do not fit."""
    ledger = person()
    place = next(place for place, line in enumerate(ledger) if b'"lifetime_nano":20' in line)
    ledger[place] = ledger[place].replace(b'"lifetime_nano":20', b'"lifetime_nano":15')
    assert "bad-hash" in codes(audit(ledger))


@pytest.mark.parametrize("change", [{"cap_nano": -1}, {"cap_nano": "9"}, {"epoch": 1}, {"policy": 1}])
def test_forms(change: Record) -> None:
    """A member entry in a form that no member's chain has is malformed."""
    chain = member("p/", 9)
    chain.entries[0] |= change
    assert "malformed-entry" in codes(audit(lines(seal(chain))))
    wrong = series("p/a", 10)
    wrong.entries[0]["lifetime_nano"] = 0
    assert "malformed-entry" in codes(audit(lines(seal(wrong))))


def test_a_chain_that_was_taken_away_shows_where_heads_name_it() -> None:
    """A ledger without its caps promises less and holds, but signed heads show that the caps were there."""
    chains = [member("p/", 30), series("p/glucose", 20), series("p/place", 10)]
    heads = Story.growing({chain.entries[0]["series"]: chain for chain in chains}).sign(Signer())
    assert attest(lines(*chains), heads).findings == ()
    assert audit(lines(*chains[1:])).holds
    assert "signed-missing" in codes(attest(lines(*chains[1:]), heads))


def test_copies_count_once() -> None:
    """Kafka may deliver twice."""
    ledger = person()
    report = audit([*ledger, *ledger])
    assert report.holds
    assert report.repeated == len(ledger)
    assert orjson.loads(ledger[1])["lifetime_nano"] == 20
