"""Statistics of units: true ledgers hold, every fraud is found, and weaker versions are remarked.

A version is weaker if it protects fewer units.
"""

import pytest

from tests.audit.frauds import chains, figures, promises, published, units
from tests.audit.frauds.forged import Fraud, behind
from tests.audit.units.written import UNITS, write
from tests.audit.ways import audit, codes
from tests.audit.written import cover, renumber, seal

LIFETIME_NANO = 1_000
ELSEWHERE = (
    promises.landmarks_hidden,
    promises.hidden_version,
    promises.version_reaches_back,
    promises.landmarks_beside_dummies,
)
"""Frauds that start from policies of steps, or are shown by their landmarks."""
COMMON = tuple(
    fraud for fraud in (*chains.FRAUDS, *figures.FRAUDS, *promises.FRAUDS, *published.FRAUDS) if fraud not in ELSEWHERE
)


@pytest.mark.parametrize("name", UNITS)
def test_a_true_ledger_of_units_holds(name: str) -> None:
    """There is no finding, with or without releases; the amount spent is the sum of the spends."""
    written = write(UNITS[name])
    report = audit(written.lines(), written.release_lines(), LIFETIME_NANO)
    assert report.findings == ()
    assert (report.entries, report.releases) == (len(written.entries), len(written.releases))
    assert audit(written.lines(), lifetime_nano=LIFETIME_NANO).holds
    assert report.spent_nano == sum(entry.get("epsilon_nano", 0) for entry in written.entries)


@pytest.mark.parametrize("fraud", units.FRAUDS, ids=lambda fraud: fraud.__name__)
def test_every_fraud_against_units_is_found(fraud: Fraud) -> None:
    """The findings include at least one fitting code, and every sort has a forgery."""
    count = 0
    for name, text in UNITS.items():
        for number, forged in enumerate(fraud(write(text))):
            found = audit(forged.ledger, forged.releases, LIFETIME_NANO)
            assert codes(found) & forged.codes, f"{name}, forgery {number}: found {found.findings}, not {forged.codes}"
            count += 1
    assert count >= 2


@pytest.mark.slow
@pytest.mark.parametrize("fraud", COMMON, ids=lambda fraud: fraud.__name__)
@pytest.mark.parametrize("name", UNITS)
def test_every_other_fraud_is_found(name: str, fraud: Fraud) -> None:
    """Units do not affect chains, figures and releases."""
    for number, forged in enumerate(fraud(write(UNITS[name]))):
        found = audit(forged.ledger, forged.releases, LIFETIME_NANO)
        assert codes(found) & forged.codes, f"forgery {number}: found {found.findings}, not {forged.codes}"


@pytest.mark.parametrize(
    ("window", "offset", "unit", "said"),
    [
        (3, 2000, 1000, ""),
        (3, 1000, 1000, ""),
        (3, 2500, 1000, "windows of 3000 ms become windows of 3000 ms, which begin at other times"),
        (4, 2500, 1000, ""),
        (2, 2000, 1000, "windows of 3000 ms become windows of 2000 ms"),
        (1, 2000, 4000, "windows of 3000 ms become windows of 4000 ms, which begin at other times"),
        (2, 2000, 4000, ""),
        (6, 2000, 500, ""),
        (6, 2250, 500, "windows of 3000 ms become windows of 3000 ms, which begin at other times"),
        (7, 2250, 500, ""),
    ],
)
def test_a_shifted_grid_is_remarked(window: int, offset: int, unit: int, said: str) -> None:
    """Another grid of units protects less together unless its windows are longer: w'*s' >= w*s + s' - g + shift."""
    written = write(UNITS["shares"])
    del written.entries[5:], written.releases[2:]
    protection = written.entries[4]["parameters"]["protection"]
    protection |= {"window": window, "offset": offset, "unit": unit}
    report = audit(seal(written).lines(), written.release_lines(), LIFETIME_NANO)
    assert report.findings == ()
    assert [remark.message for remark in report.remarks] == ([said] if said else [])
    written.entries[4] = _marked(written.entries[4])
    (told,) = audit(seal(written).lines(), written.release_lines(), LIFETIME_NANO).remarks
    assert told.code == "weaker-marked"


def _marked(entry: dict[str, object]) -> dict[str, object]:
    """Return a policy entry that is marked as weaker."""
    members = list(entry.items())
    place = [name for name, _ in members].index("parameters")
    return dict([*members[:place], ("weaker", True), *members[place:]])


def test_landmarks_of_steps_end_units_that_they_touch() -> None:
    """A landmark that begins within a unit makes the unit a landmark, so fewer units are counted."""
    written = write(UNITS["filtered"])
    policy = written.entries[0]["parameters"]["protection"]
    policy["landmarks"] = [500, [2400, 2401]]
    assert audit(renumber(written).lines(), written.release_lines()).holds
    policy["landmarks"] = [[2400, 3001]]
    assert codes(audit(renumber(written).lines(), written.release_lines())) == {"release-mismatch"}


def test_units_before_the_first_step_may_be_registered() -> None:
    """The offset leaves some units before the first step; no record has a time before 1970."""
    written = write(UNITS["filtered"])
    written.entries[0]["parameters"]["protection"] |= {"offset": 2500, "landmarks": []}
    for one in (*written.entries[1:], *written.releases):
        one["timestamp"] += 500
    figures = {"budget_nano": 100, "landmark_spent_nano": 0, "landmarks_left": 0, "regular_peak_nano": 0}
    early = behind(cover(written), 0, "landmarks", add=[[0, 1500]], charged_nano=0, **figures)
    assert audit(early.lines(), early.release_lines()).holds
