"""Epsilon as odds: the most that the releases can change what a reader believes.

For histories that differ as the guarantee says, the odds between any two of them change by at most a factor of
e^epsilon, whatever is published. A claim is true for some histories and false for the others, so its odds do not change
by a larger factor either.
"""

from math import exp, floor, log10
from typing import Final

from stream_app.words.amount import NANO

PRIOR: Final = 0.1
"""The probability that texts for people assume for a claim before anything is published."""
_NEARLY: Final = 99.0  # percent: above it, the distance from 100 is rounded, so nothing is called certain
_LEAST: Final = 1e-4  # percent: a smaller distance from 100 is not written out


def most_likely(prior: float, epsilon_nano: int) -> float:
    """Return the largest probability that a claim with probability ``prior`` can reach: p e^E / (1 - p + p e^E)."""
    return prior / (prior + (1 - prior) * exp(-epsilon_nano / NANO))


def percent(epsilon_nano: int, prior: float = PRIOR) -> str:
    """Return `most_likely` in percent, as a whole number; above 99, with enough digits to differ from 100."""
    rest = (1 - prior) * exp(-epsilon_nano / NANO)
    missing = 100 * rest / (prior + rest)
    if 100 - missing <= _NEARLY:
        return f"{100 - missing:.0f}"
    if missing < _LEAST:
        return "nearly 100"
    return f"{round(100 - missing, -floor(log10(missing))):g}"


def in_odds(epsilon_nano: int) -> str:
    """Return a sentence on the odds that one version's epsilon allows, to follow the guarantee in words."""
    return (
        f"In odds: someone who thought a claim {100 * PRIOR:g} % likely thinks it at most about "
        f"{percent(epsilon_nano)} % likely afterwards. This holds for claims about the first difference above, and for "
        "one version alone."
    )


def odds_document(epsilon_nano: int) -> dict[str, float]:
    """Return the odds for programs: the probability of a claim before publication, and its maximum afterwards."""
    return {"prior": PRIOR, "at_most": most_likely(PRIOR, epsilon_nano)}
