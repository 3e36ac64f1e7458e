"""What an auditor is shown of a fraud, and the codes of which one must be found."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tests.audit.written import Written

FIGURES = {
    "budget_nano": "budget",
    "landmark_spent_nano": "landmark-spent",
    "landmarks_left": "landmarks-left",
    "regular_peak_nano": "regular-peak",
}
ARITHMETIC = {*FIGURES.values(), "share", "decision", "landmark-flag", "charge", "refused-landmark"}
CHAIN = {"gap", "truncated", "broken-chain", "out-of-order", "bad-hash"}


class Forged(NamedTuple):
    """What an auditor is shown, and the codes of which one has to be found."""

    ledger: list[bytes]
    releases: list[bytes]
    codes: set[str]


Fraud = Callable[[Written], Iterator[Forged]]


def forged(written: Written, *codes: str) -> Forged:
    """Return a forged ledger with its releases as they are."""
    return Forged(written.lines(), written.release_lines(), set(codes))
