"""Balanced with a regular share of 1, as the audit checks it: a landmark that spends anything is found."""

import pytest

from stream_app.audit.books.share import MILLION, share_of
from tests.audit.explain.test_explanation import explained
from tests.audit.ways import audit, codes
from tests.audit.written import LEDGERS, write

POLICY = 'policy 1 {"epsilon": 1e-7, "scheme": {"name":"balanced","regular_share":1}, "landmarks": [1000, 3000]}\n'
FRAUDS = {
    "a landmark is published with what is left": " 1 perturbed L 50 | 50 1 0\n 2 perturbed . 50 | 50 1 50",
    "a landmark is published with a nano-epsilon": " 1 perturbed L 1 | 1 1 0\n 2 perturbed . 99 | 1 1 99",
    "a landmark is published beside a whole epsilon": " 2 perturbed . 100 | 0 1 100\n 3 perturbed L 100 | 100 0 100",
    "a landmark passes for another step": " 1 perturbed . 100 | 0 1 100\n 2 perturbed . 100 | 0 1 100",
    "another step passes for a landmark": " 1 withheld L - | 0 1 0\n 2 withheld L - | 0 1 0",
    "another step has a landmark's share": " 1 withheld L - | 0 1 0\n 2 perturbed . 50 | 0 1 50",
}
WANTED = ("share", "share", "theorem", "landmark-flag", "landmark-flag", "share")


@pytest.mark.parametrize("budget", [1, 7, 10**9])
@pytest.mark.parametrize("left", [0, 1, 5])
def test_the_share_is_that_of_the_formula(budget: int, left: int) -> None:
    """If G = E, a landmark gets nothing and any other step E - S, whatever was spent."""
    share = share_of("balanced", budget, MILLION)
    for spent in {0, budget // 3, budget}:
        for peak in {0, (budget - spent) // 2, budget - spent}:
            assert share(spent, peak, left, True) == 0  # noqa: FBT003 - as `Share` is called
            assert share(spent, peak, left, False) == budget - spent  # noqa: FBT003


def test_an_honest_ledger_holds() -> None:
    """Landmarks are first withheld and later repeated; one that was registered ahead is left out as well."""
    written = write(LEDGERS["left-out"])
    report = audit(written.lines(), written.release_lines())
    assert report.holds, report.findings


@pytest.mark.parametrize(("name", "code"), list(zip(FRAUDS, WANTED, strict=True)))
def test_a_fraud_is_found(name: str, code: str) -> None:
    """It is found although all hashes and figures agree, and although the theorem may hold."""
    written = write(POLICY + FRAUDS[name])
    report = audit(written.lines(), written.release_lines())
    assert not report.holds
    assert code in codes(report), report.findings


def test_it_is_explained() -> None:
    """The formula gives a share of 0, and the reason names it."""
    found = explained(write(LEDGERS["left-out"]).lines(), 3000)
    first, second = found.shares.formulas
    assert (first.numbers, first.value) == ("max(0, 100 - 0 - max(100, 100)) // 3", 0)
    assert second.value == 100
    assert found.reason.startswith("Balanced gives landmarks nothing: its regular share is 1. The release repeats")
    withheld = explained(write(LEDGERS["left-out"]).lines(), 1000)
    assert withheld.reason.endswith("Nothing was released earlier in this period, so there is nothing to repeat.")
    half = explained(write(LEDGERS["balanced"]).lines(), 2000)
    assert not half.leaves_out
