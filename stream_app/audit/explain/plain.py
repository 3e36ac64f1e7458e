"""The text of an explanation without formulas: what became of a step, what it cost, and why."""

from collections.abc import Iterator
from math import exp, sinh
from typing import Final

from stream_app.audit.explain.explanation import Explanation
from stream_app.audit.form.entry import APPROXIMATED, PERTURBED
from stream_app.calendar.words import duration_in_words, moment_in_words
from stream_app.words.amount import NANO, amount, promised, quoted

_UNITS: Final = {"number": ", in the unit of the values"}
_LARGE: Final = 700.0
"""Its hyperbolic sine is near the largest double."""


def plain_of(found: Explanation) -> str:
    """Return the explanation as one paragraph."""
    return " ".join(_sentences(found))


def _sentences(found: Explanation) -> Iterator[str]:
    entry, terms = found.entry, found.terms
    if found.findings:
        yield f"The ledger has {len(found.findings)} faults up to here, so do not rely on what follows."
    what = "is a landmark" if found.landmark else "is no landmark"
    if terms.level != "landmark":
        together = "is one of those that count together" if found.landmark else "comes after those that count together"
        what = {"user": together, "event": "counts alone"}.get(terms.level, "ends a window")
    length = duration_in_words(terms.step_ms)
    begins = moment_in_words(entry.timestamp)
    yield f"The step of {quoted(entry.series)} that begins at {begins} and lasts {length} {what}."
    yield _decided(found)
    if found.scale is not None:
        yield _noise(found)
    yield from _cost(found)
    if found.unknown:
        yield found.unknown


def _decided(found: Explanation) -> str:
    compared = found.terms.compares and found.is_tossed
    coin = " Whether to publish was drawn at random, with odds that follow from what was published before."
    if compared:
        coin = " Whether to publish was decided by comparing its value with the last release, under noise of its own."
    coin = coin if found.is_tossed else ""
    if found.entry.decision == PERTURBED:
        return f"Its value was published with fresh noise.{coin}"
    if found.entry.decision == APPROXIMATED:
        source = "" if found.source_ms is None else f" at {moment_in_words(found.source_ms)}"
        said = f"Its value was not published: the release repeats what is known from the step{source}."
    else:
        said = "Nothing was published: there was nothing to repeat yet."
    return said + (coin or _why(found))


def _why(found: Explanation) -> str:
    """Return why nothing was measured though no coin was tossed."""
    if found.entry.timestamp < found.opens_ms:
        until = moment_in_words(found.opens_ms)
        return f" Until {until} this version waits, since windows hold steps that an earlier version spent on."
    if found.share_nano >= found.terms.least_nano:
        return " It had no reading." if found.terms.gaps else ""
    if found.landmark and found.terms.scheme == "skip":
        return " The scheme gives landmarks nothing."
    return " Nothing was left for it."


def _noise(found: Explanation) -> str:
    """Return how far the noise takes a measurement, where that has a simple form, else the noise's scale."""
    terms, scale, nano = found.terms, found.scale, found.entry.epsilon_nano
    kind = terms.value["kind"]
    if isinstance(scale, dict):
        each = ", ".join(f"{size:.4g} for {quoted(name)}" for name, size in scale.items())
        return f"The scale of the noise is {each}."
    if kind == "category":
        # exp(e) / (exp(e) + k - 1), of Kairouz et al. (2016), in a form that no epsilon takes out of range
        chance = 1 / (1 + (len(terms.value["categories"]) - 1) * exp(-nano / NANO))
        return f"It is the true category with probability {100 * chance:.3g} %, else any of the others."
    if kind == "choice":
        fewer = (2 if terms.neighbours == "replace" else 1) * NANO / nano
        return f"In the draw an item weighs e (2.72) times less for every {fewer:.4g} contributors fewer that chose it."
    if scale is not None and not terms.counts_items and not terms.intrusion_nano:
        if kind == "counts":  # the mean size of discrete Laplace noise; 1 / sinh(x) of large x is 0
            return f"Each count is off by {1 / sinh(min(1 / scale, _LARGE)):.4g} on average."
        if kind == "location":  # the mean distance of planar Laplace noise
            return f"What was measured is off by {2 * scale:.4g} metres on average."
        return f"What was measured is off by {scale:.4g} on average, in the unit of the values."
    return f"The scale of the noise is {scale:.4g}{_UNITS.get(kind, '')}."


def _cost(found: Explanation) -> Iterator[str]:
    entry, after, terms = found.entry, found.after, found.terms
    used = promised(after.budget_nano - after.left_nano, after.budget_nano)
    looks = found.reach is not None and entry.timestamp >= found.opens_ms
    cost_nano = entry.epsilon_nano + (found.reach.charge_nano if looks and found.reach is not None else 0)
    cost = f"That cost epsilon {amount(cost_nano)}" if cost_nano else "That cost nothing"
    counted = {
        "landmark": "all landmarks, and the dearest other step or window",
        "user": "all steps",
        "event": "the dearest step",
    }.get(terms.level, "the dearest window")
    yield f"{cost}; since then {used} is used, which counts {counted}."
    left = after.landmarks_left
    if left and terms.level == "landmark":
        noun = "landmark" if left == 1 else "landmarks"
        yield f"For {left:,} {noun} to come, unused spare included, {amount(found.reserved_nano)} is kept."
    if left and terms.level == "user":
        yield f"{left:,} {'step is' if left == 1 else 'steps are'} left."
