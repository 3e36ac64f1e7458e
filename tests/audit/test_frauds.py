"""Thirty-seven sorts of fraud, in ledgers by hand and by the fold: each is found, under its own name.

Frauds that only signed heads can show are in test_head_frauds.py: a cut tail, a chain rewritten whole or forked, false
heads.
"""

from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

import pytest

from stream_app.audit import CODES
from tests.audit.decided import chains
from tests.audit.frauds import FRAUDS, Fraud
from tests.audit.frauds.forged import Forged
from tests.audit.ways import audit, codes
from tests.audit.written import LEDGERS, Written, write
from tests.run import KINDS

pytestmark = pytest.mark.slow

ELSEWHERE = {"stale-duplicate", "unlisted", "witness", "intrusion", "claim", "cap-raised"} | {
    code for code in CODES if code.startswith(("signed-", "head-", "malformed-head", "member-", "view"))
}
"""Codes that need other inputs.

These are longer ledgers (test_chain.py, test_files.py), collected data (test_collected.py), members (test_members.py),
views (books/test_views.py) or signed heads.
"""


class Judged(NamedTuple):
    """The verdict on a forgery."""

    holds: bool
    found: set[str]
    wanted: set[str]
    """The codes that fit the fraud."""


@cache
def judged(name: str, fraud: Fraud, every: int) -> list[Judged]:
    """Return the verdicts on a sort's first four and every ``every``-th forgery in a hand-written ledger."""
    found = []
    for number, forged in enumerate(fraud(write(LEDGERS[name]))):
        if number < 4 or number % every == 0:
            report = audit(forged.ledger, forged.releases)
            found.append(Judged(report.holds, codes(report), forged.codes))
    return found


@pytest.fixture(scope="module")
def every(ledgers: int) -> int:
    """Return 1 in `make long`, which checks all forgeries, and 5 in `make test`."""
    return max(1, 600 // ledgers)


@pytest.mark.parametrize("fraud", FRAUDS, ids=lambda fraud: fraud.__name__)
@pytest.mark.parametrize("name", LEDGERS)
def test_every_fraud_is_found(name: str, fraud: Fraud, every: int) -> None:
    """The verdict fails, and the findings include at least one of the codes that fit the fraud."""
    for number, one in enumerate(judged(name, fraud, every)):
        assert not one.holds, f"forgery {number} was not found"
        assert one.found & one.wanted, f"forgery {number}: found {one.found}, not {one.wanted}"


@pytest.fixture(scope="module")
def decided(ledgers: int) -> list[Written]:
    """Return series decided by the fold."""
    return chains(ledgers)


STRIDES: Final = {"figure_changed": 8, "charges_hidden": 1}
"""A sort forges every other series: fewer if it has 24 forgeries per entry, all if it fits few series."""


def spread(fraud: Fraud, decided: list[Written]) -> Iterator[tuple[Written, Forged]]:
    """Yield the first five of a sort's forgeries and every 19th one, over some of the series."""
    some = decided[:: STRIDES.get(fraud.__name__, 2)]
    all_of_it = ((true, forged) for true in some for forged in fraud(true))
    yield from (pair for number, pair in enumerate(all_of_it) if number < 5 or number % 19 == 0)


@pytest.mark.parametrize("fraud", FRAUDS, ids=lambda fraud: fraud.__name__)
def test_every_fraud_in_a_decided_ledger_is_found(fraud: Fraud, decided: list[Written]) -> None:
    """The same holds where versions, late registrations, ends, key epochs, and all schemes and kinds combine."""
    count = 0
    for true, forged in spread(fraud, decided):
        report = audit(forged.ledger, forged.releases, true.lifetime_nano)
        assert codes(report) & forged.codes, f"found {report.findings}, not {forged.codes}"
        count += 1
    assert count >= 5


def test_the_decided_ledgers_have_everything(decided: list[Written]) -> None:
    """They have all levels and all their schemes, all kinds, a second version, charged registrations, and ends."""
    entries = [entry for true in decided for entry in true.entries]
    promised = [entry["parameters"] for entry in entries if entry["entry"] == "policy"]
    pairs = {(terms["protection"]["level"], terms["scheme"]["name"]) for terms in promised}
    schemes = ("uniform", "adaptive", "skip", "balanced")
    assert pairs == {(level, name) for level in ("landmark", "event") for name in schemes} | {
        ("user", "uniform"),
        ("user", "adaptive"),
        *(("w-event", name) for name in ("uniform", "bd", "ba")),
        *(("landmark", name) for name in ("bd", "ba")),
    }
    windows = [terms["protection"] for terms in promised if (terms["protection"].get("window") or 1) > 1]
    assert {protection["level"] for protection in windows} == {"landmark", "w-event"}
    assert {terms["scheme"].get("dissimilarity") for terms in promised} == {None, "private"}
    assert {terms["value"]["kind"] for terms in promised} == KINDS.keys()
    assert {entry["entry"] for entry in entries} == {"release", "policy", "dummies", "landmarks", "close"}
    assert any(entry.get("charged_nano") for entry in entries)
    assert any(entry["epoch"] > 0 for entry in entries)
    assert any(true.entries[0]["policy"] < true.entries[-1]["policy"] for true in decided)


def test_there_are_enough_and_every_code_is_met(every: int) -> None:
    """There are at least 500 forgeries, and the first few of each sort show every code of the table."""
    everything = [judged(name, fraud, every) for name in LEDGERS for fraud in FRAUDS]
    assert sum(map(len, everything)) >= 500
    met = set().union(*(one.found for sort in everything for one in sort[:4]))
    assert met == CODES.keys() - ELSEWHERE
