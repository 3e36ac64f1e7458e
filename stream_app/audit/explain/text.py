"""The text of an explanation for a human reader."""

from collections.abc import Iterator
from datetime import UTC, datetime
from textwrap import wrap
from typing import Final

from stream_app.audit.explain.explanation import Explanation
from stream_app.audit.explain.formula import Formula
from stream_app.audit.form.entry import APPROXIMATED, PERTURBED
from stream_app.audit.report.report import epsilon, line_of
from stream_app.calendar.words import duration_in_words, moment_in_words
from stream_app.words.amount import amount, of_limit, quoted

SHOWN: Final = 5  # findings shown in a text; the audit lists all

WIDTH: Final = 110  # characters in a line of the text

_LEGEND: Final = (
    ("E", "budget"),
    ("S", "spent on landmarks"),
    ("M", "largest cost of another step"),
    ("R", "landmarks from this step on, including unused spare landmarks"),
)
_BOTH_LEGEND: Final = (
    *_LEGEND[:2],
    ("M", "largest total cost of the other steps in a window"),
    _LEGEND[3],
    ("w", "steps in a window"),
    ("H", "spent on the other steps of the window that ends here, excluding landmarks"),
)
_WINDOW_LEGEND: Final = (
    ("E", "budget of a window"),
    ("w", "steps in a window"),
    ("e1", "cost of a private dissimilarity, at every event"),
    ("H", "spent on the other steps of the window that ends here"),
)
_UNITS_LEGEND: Final = (
    *_LEGEND[:2],
    ("M", "largest cost of a step"),
    ("R", "spare units left: they may become landmarks after their step"),
    ("w", "units in a window"),
)
_USER_LEGEND: Final = (("E", "budget"), ("S", "spent"), ("M", "0: all steps are landmarks"), ("R", "steps left"))


def text_of(found: Explanation) -> str:
    """Return the explanation as readable text."""
    entry, terms = found.entry, found.terms
    at = datetime.fromtimestamp(entry.timestamp / 1000, UTC).isoformat(timespec="milliseconds")
    policy = f"policy {terms.version} (entry {found.policy.sequence})"
    lines = [
        f"{quoted(entry.series)} at {at} ({entry.timestamp}): {entry.decision}, spent {epsilon(entry.epsilon_nano)}",
        f"entry {entry.sequence}, under {policy}: {terms.scheme}, level {terms.level}, steps of {terms.step_ms} ms"
        + ("" if terms.units is None else f", units of {terms.units.grid.length_ms} ms"),
        *_doubts(found),
        "",
        "Before the step, in nano-epsilon",
    ]
    lines += _figures(found)
    if found.dummies is not None:
        lines.append(
            f"  {found.dummies.charged_nano} of S was charged for drawing the landmarks ({found.dummies.method});"
        )
        lines.append("  the ledger does not say which landmarks are real and which are dummies.")
    lines += ["", f"The share according to {terms.scheme}"]
    for formula in found.shares.formulas:
        lines += _derived(formula)
    whose = "The step is a landmark" if found.landmark else "The step is not a landmark"
    if terms.level == "w-event":
        whose = "The step ends a window"
    if terms.units is not None:
        whose = "Units that are landmarks are left out"
    lines += [
        "",
        "The decision",
        f"  {whose}: {terms.scheme} proposes {found.share_nano}; the guard allows {found.limit_nano}.",
        *(f"  {line}" for line in wrap(found.reason, WIDTH)),
    ]
    if found.unknown:
        lines += [f"  {line}" for line in wrap(found.unknown, WIDTH)]
    if found.scale is not None:
        lines += [
            f"  {line}" for line in wrap(f"{entry.epsilon_nano} nano-epsilon was spent on {_noise(found)}.", WIDTH)
        ]
    if found.reach is not None and found.reach.charge_nano and entry.timestamp >= found.opens_ms:
        lines.append(f"  The private dissimilarity cost {found.reach.charge_nano}, as at every event.")
    lines += ["", "After the step, in nano-epsilon", *_rest(found)]
    return "\n".join(lines)


def _noise(found: Explanation) -> str:
    scale = found.scale
    if isinstance(scale, dict):
        return "noise of scale " + ", ".join(f"{each:.6g} on {quoted(name)}" for name, each in scale.items())
    what = "items" if found.terms.units is None else "units"
    items = f", divided by the number of {what} that the release states" if found.terms.divides else ""
    return f"noise of scale {scale:.6g}{items}"


def _doubts(found: Explanation) -> list[str]:
    if not found.findings:
        return []
    lines = [f"THE LEDGER HAS FAULTS up to here: {len(found.findings)} findings; `audit` lists all of them"]
    return lines + [f"  {line_of(finding)}" for finding in found.findings[:SHOWN]]


def _figures(found: Explanation) -> list[str]:
    figures: tuple[int, ...] = found.before
    legend: tuple[tuple[str, str], ...] = _USER_LEGEND if found.terms.level == "user" else _LEGEND
    if found.terms.units is not None:
        figures, legend = (*found.before, found.terms.units.window), _UNITS_LEGEND
    if found.reach is not None and found.terms.level == "w-event":
        figures = (found.before.budget_nano, found.reach.steps, found.reach.charge_nano, found.reach.held_nano)
        legend = _WINDOW_LEGEND
    elif found.reach is not None:
        figures = (*found.before, found.reach.steps, found.reach.held_nano)
        legend = _BOTH_LEGEND
    width = len(str(max(figures)))
    signs = max(len(symbol) for symbol, _ in legend)
    return [
        f"  {symbol:{signs}}  {figure:>{width}}  {meaning}"
        for (symbol, meaning), figure in zip(legend, figures, strict=True)
    ]


def _rest(found: Explanation) -> list[str]:
    after, rest = found.after, found.next
    if found.terms.level == "w-event":
        lost = f"the windows up to here lost at most {after.regular_peak_nano} of {after.budget_nano}"
        return [f"  {lost}; the step after this one would get {rest.regular_nano}"]
    other = "another step" if found.reach is None else "the other steps of a window"
    spent = f"{after.landmark_spent_nano} spent on landmarks, at most {after.regular_peak_nano} on {other}"
    lines = [f"  {spent}: {after.left_nano} of {after.budget_nano} left"]
    if found.terms.units is not None:
        lines.append(
            f"  spare left: {after.landmarks_left}, with {found.reserved_nano} reserved for it; the next step would "
            f"get {rest.regular_nano}"
        )
    elif found.terms.level == "user":
        lines.append(f"  steps left: {after.landmarks_left}; the next landmark would get {rest.landmark_nano}")
    else:
        lines.append(
            f"  landmarks left: {after.landmarks_left}, with {found.reserved_nano} reserved for them; the next "
            f"landmark would get {rest.landmark_nano}, another step {rest.regular_nano}"
        )
    if found.earlier_nano:
        lines.append(f"  {found.earlier_nano} was lost under earlier policy versions")
    return lines


def _derived(formula: Formula) -> list[str]:
    lines = [f"  {formula.symbol} = {formula.rule}"]
    if formula.numbers != formula.rule:
        lines.append(f"  {' ' * len(formula.symbol)} = {formula.numbers}")
    if formula.numbers != str(formula.value):
        lines[-1] += f" = {formula.value}"
    lines[-1] += {"a": "  for a landmark", "g": "  for another step"}.get(formula.symbol, "")
    return lines


def plain_of(found: Explanation) -> str:
    """Return the explanation as one paragraph."""
    return " ".join(_sentences(found))


def _sentences(found: Explanation) -> Iterator[str]:
    entry, terms = found.entry, found.terms
    if found.findings:
        yield f"The ledger has {len(found.findings)} faults up to here, so do not rely on what follows."
    what = "is a landmark" if found.landmark else "is not a landmark"
    if terms.level != "landmark":
        together = (
            "is one of the steps that count together" if found.landmark else "comes after the steps that count together"
        )
        what = {"user": together, "event": "counts alone"}.get(terms.level, "ends a window")
    if terms.units is not None:
        what = "is counted without landmark units"
    length = duration_in_words(terms.step_ms)
    begins = moment_in_words(entry.timestamp)
    yield f"The step of {quoted(entry.series)} that begins at {begins} and lasts {length} {what}."
    yield _decided(found)
    if found.scale is not None:
        yield _noise_in_words(found)
    yield from _cost(found)
    if found.unknown:
        yield found.unknown


def _decided(found: Explanation) -> str:
    compared = found.terms.compares and found.is_tossed
    coin = " A coin decided whether to publish, with odds that follow from earlier releases."
    if compared:
        coin = " A comparison of its value with the last release, under separate noise, decided whether to publish."
    coin = coin if found.is_tossed else ""
    if found.entry.decision == PERTURBED:
        return f"Its value was published with fresh noise.{coin}"
    if found.entry.decision == APPROXIMATED:
        source = "" if found.source_ms is None else f" at {moment_in_words(found.source_ms)}"
        said = f"Its value was not published. The release repeats what is known from the step{source}."
    else:
        said = "Nothing was published, because there was nothing to repeat yet."
    return said + (coin or _why(found))


def _why(found: Explanation) -> str:
    if found.entry.timestamp < found.opens_ms:
        until = moment_in_words(found.opens_ms)
        return f" This version waits until {until}, because windows contain steps on which an earlier version spent."
    if found.share_nano >= found.terms.least_nano:
        return " It had no reading." if found.terms.gaps else ""
    if found.landmark and found.leaves_out:
        return " The scheme gives landmarks nothing."
    return " Nothing was left for it."


def _noise_in_words(found: Explanation) -> str:
    """Return the effect of the noise if it is simple to describe, otherwise the scale of the noise."""
    terms, scale = found.terms, found.scale
    assert scale is not None, "noise was drawn"
    if isinstance(scale, dict):
        each = ", ".join(f"{size:.4g} for {quoted(name)}" for name, size in scale.items())
        return f"The scale of the noise is {each}."
    if terms.units is None:
        return terms.kind.effect(scale, found.entry.epsilon_nano)
    what = "The noise" if not terms.divides else "Before it is divided by the number of units, the noise"
    return f"{what} has a scale of {scale:.4g}{', in the unit of the values' * (terms.statistic in ('mean', 'sum'))}."


def _cost(found: Explanation) -> Iterator[str]:
    entry, after, terms = found.entry, found.after, found.terms
    used = of_limit(after.budget_nano - after.left_nano, after.budget_nano)
    looks = found.reach is not None and entry.timestamp >= found.opens_ms
    cost_nano = entry.epsilon_nano + (found.reach.charge_nano if looks and found.reach is not None else 0)
    cost = f"This cost epsilon {amount(cost_nano)}" if cost_nano else "This cost nothing"
    counted = {
        "landmark": "all landmarks and the costliest other step or window",
        "user": "all steps",
        "event": "the costliest step",
    }.get(terms.level, "the costliest window")
    if terms.units is not None:
        counted = "landmarks that were registered late and the costliest step"
    yield f"{cost}. After it, {used} is used, counting {counted}."
    left = after.landmarks_left
    if left and terms.level == "landmark":
        noun = "landmark" if left == 1 else "landmarks"
        if terms.units is not None:
            noun = "unit that becomes a landmark later" if left == 1 else "units that become landmarks later"
            yield f"{amount(found.reserved_nano)} is reserved for {left:,} {noun}."
            return
        if found.leaves_out:
            yield f"The scheme gives nothing to the {left:,} future {noun}, including unused spare landmarks."
            return
        yield (
            f"{amount(found.reserved_nano)} is reserved for {left:,} future {noun}, including unused spare landmarks."
        )
    if left and terms.level == "user":
        yield f"{left:,} {'step is' if left == 1 else 'steps are'} left."
