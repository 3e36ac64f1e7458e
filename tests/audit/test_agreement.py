"""Two implementations agree: the audit accepts what the fold decides, and literal sums keep the theorem."""

import orjson
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.audit.decided import by_series
from tests.audit.heads.signed import Signer, Story, attest
from tests.audit.histories import History, histories
from tests.audit.ways import audit
from tests.suite.speeds import scaled
from tests.used import literally_used, truly_lost

MANY = settings(max_examples=scaled(60), suppress_health_check=[HealthCheck.too_slow])


def test_a_decided_log_holds(ledgers: int) -> None:
    """A ledger written by the fold has no findings: alone, with releases, with heads, or with any part copied."""

    @settings(MANY, max_examples=ledgers)
    @given(histories(), st.data())
    def holds(history: History, data: st.DataObject) -> None:
        assert audit(history.ledger, lifetime_nano=history.lifetime_nano).findings == ()
        plain = audit(history.ledger, history.releases, history.lifetime_nano)
        assert plain.findings == ()
        assert (plain.entries, plain.releases) == (len(history.ledger), len(history.releases))
        assert plain.spent_nano == sum(history.spends_nano) == literally_spent(history.ledger)
        assert_theorem(history.ledger)
        # As by a batch that was tried again: it changes neither findings nor figures.
        end = data.draw(st.integers(0, len(history.ledger)))
        start = data.draw(st.integers(0, end))
        copied = [*history.ledger[:end], *history.ledger[start:]]
        repeated = audit(copied, history.releases, history.lifetime_nano)
        assert repeated == plain._replace(repeated=end - start)
        heads = Story.growing(by_series(history)).sign(Signer())
        for late in (False, True):
            signed = attest(copied, heads, lifetime_nano=history.lifetime_nano, late=late)
            assert (signed.findings, signed.entries) == ((), plain.entries)

    holds()


@MANY
@given(histories(), st.data())
def test_any_changed_byte_is_found(history: History, data: st.DataObject) -> None:
    """The verdict fails if any bit of any line in the ledger or the releases is flipped."""
    for lines in (history.ledger, history.releases):
        if not lines:
            continue
        place = data.draw(st.integers(0, len(lines) - 1))
        byte = data.draw(st.integers(0, len(lines[place]) - 1))
        line = bytearray(lines[place])
        line[byte] ^= 1 << data.draw(st.integers(0, 7))
        true, lines[place] = lines[place], bytes(line)
        assert not audit(history.ledger, history.releases, history.lifetime_nano).holds
        lines[place] = true


def literally_spent(ledger: list[bytes]) -> int:
    """Return what was measured: releases, e1 = E // 2w for each private dissimilarity looked at, drawn dummies."""
    spent = 0
    charge: dict[str, int] = {}  # of the version in force
    for entry in map(orjson.loads, ledger):
        match entry["entry"]:
            case "policy":
                scheme, protection = entry["parameters"]["scheme"], entry["parameters"]["protection"]
                private = scheme.get("dissimilarity") == "private"
                charge[entry["series"]] = entry["budget_nano"] // (2 * protection["window"]) if private else 0
            case "release":
                looked = entry["regular_peak_nano"] > 0  # while a version waits it looks at nothing
                spent += entry.get("epsilon_nano", 0) + (charge[entry["series"]] if looked else 0)
            case "dummies":
                spent += entry["charged_nano"]
    return spent


def assert_theorem(ledger: list[bytes]) -> None:
    """Check that no version lost more than promised: spends on final landmarks plus the worst window's.

    This held at every moment, because no spend reduces a sum.
    """
    lost = truly_lost(ledger)
    for version, (_, promised) in literally_used(ledger).items():
        assert lost[version] <= promised


@settings(MANY, max_examples=scaled(40))
@given(histories(), st.data())
def test_lost_releases_are_missed_and_nothing_else(history: History, data: st.DataObject) -> None:
    """The ledger is as after a batch that committed only entries, then whole batches; each loss is one finding."""
    lost = data.draw(st.sets(st.integers(0, max(0, len(history.releases) - 1))))
    kept = [release for place, release in enumerate(history.releases) if place not in lost]
    report = audit(history.ledger, kept, history.lifetime_nano)
    missing = len(history.releases) - len(kept)
    assert dict(report.counts) == ({"entry-without-release": missing} if missing else {})
    assert report.broken("promise") == 0
