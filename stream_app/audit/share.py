"""The share of the budget that a scheme proposes for one step (design 3), and whether it leaves a choice.

With E the budget, S = `spent_nano`, M = `peak_nano` and R = `left`, the landmarks at or after the step with the unused
spare: Uniform and Adaptive give a landmark `a = min((E - S) // (R + 1), (E - S - M) // R)`, Balanced
`a = max(0, E - max(G, M) - S) // R` with G the regular share of E, Skip nothing; a regular step gets `E - S - R*a`.
At user level R is what is left of the length, and every step gets `(E - S) // R`.
"""

from stream_app.audit.terms import MILLION, Terms


def share(terms: Terms, spent_nano: int, peak_nano: int, left: int, *, landmark: bool) -> int:
    """Return what the step may spend, in nano-epsilon; 0 means that nothing is perturbed."""
    free = terms.budget_nano - spent_nano
    if terms.level == "user":
        return free // left if left > 0 else 0
    if left == 0 or terms.scheme == "skip":
        reserved = 0
    elif terms.scheme == "balanced":
        regular = terms.budget_nano * terms.regular_millionths // MILLION
        reserved = max(0, free - max(regular, peak_nano)) // left
    else:
        reserved = min(free // (left + 1), (free - peak_nano) // left)
    return reserved if landmark else free - left * reserved


def must_publish(terms: Terms, *, released_before: bool) -> bool:
    """Tell whether a step with a share is perturbed in any case: only Adaptive tosses coins, and not for its first."""
    return terms.scheme != "adaptive" or not released_before
