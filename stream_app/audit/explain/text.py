"""The text of an explanation, for a reader."""

from datetime import UTC, datetime
from textwrap import wrap
from typing import Final

from stream_app.audit.explain.explanation import Explanation
from stream_app.audit.explain.formula import Formula
from stream_app.audit.report.report import epsilon, line_of
from stream_app.words.amount import quoted

SHOWN: Final = 5
"""Findings that a text lists; the audit lists all."""

WIDTH: Final = 110
"""Characters of a line of the text."""

_LEGEND: Final = (
    ("E", "budget"),
    ("S", "spent on landmarks"),
    ("M", "largest spend on another step"),
    ("R", "landmarks from this step on, unused spare included"),
)
_BOTH_LEGEND: Final = (
    *_LEGEND[:2],
    ("M", "largest sum of spends on other steps in a window"),
    _LEGEND[3],
    ("w", "steps of a window"),
    ("H", "spent by the other steps of the window that ends here, landmarks apart"),
)
_WINDOW_LEGEND: Final = (
    ("E", "budget of a window"),
    ("w", "steps of a window"),
    ("e1", "cost of a private dissimilarity, at every event"),
    ("H", "spent by the other steps of the window that ends here"),
)
_USER_LEGEND: Final = (("E", "budget"), ("S", "spent"), ("M", "0: all steps are landmarks"), ("R", "steps left"))


def text_of(found: Explanation) -> str:
    """Return the explanation for a reader."""
    entry, terms = found.entry, found.terms
    when = f"{_moment(entry.timestamp)} ({entry.timestamp})"
    policy = f"policy {terms.version} (entry {found.policy.sequence})"
    lines = [
        f"{quoted(entry.series)} at {when}: {entry.decision}, spent {epsilon(entry.epsilon_nano)}",
        f"entry {entry.sequence}, under {policy}: {terms.scheme}, level {terms.level}, steps of {terms.step_ms} ms",
        *_doubts(found),
        "",
        "Before the step, in nano-epsilon",
    ]
    lines += _figures(found)
    if found.dummies is not None:
        lines.append(
            f"  Of S, {found.dummies.charged_nano} were charged for drawing the landmarks ({found.dummies.method});"
        )
        lines.append("  which of them are true and which are dummies cannot be told.")
    lines += ["", f"The share, by {terms.scheme}"]
    for formula in found.shares.formulas:
        lines += _derived(formula)
    whose = "The step is a landmark" if found.landmark else "The step is no landmark"
    if terms.level == "w-event":
        whose = "The step ends a window"
    lines += [
        "",
        "The decision",
        f"  {whose}: {terms.scheme} proposes {found.share_nano}; the guard allows {found.limit_nano}.",
        *(f"  {line}" for line in wrap(found.reason, WIDTH)),
    ]
    if found.unknown:
        lines += [f"  {line}" for line in wrap(found.unknown, WIDTH)]
    if found.scale is not None:
        lines += [f"  {line}" for line in wrap(f"{entry.epsilon_nano} were spent, for {_noise(found)}.", WIDTH)]
    if found.reach is not None and found.reach.charge_nano and entry.timestamp >= found.opens_ms:
        lines.append(f"  The private dissimilarity cost {found.reach.charge_nano}, as at every event.")
    lines += ["", "After the step, in nano-epsilon", *_rest(found)]
    return "\n".join(lines)


def _noise(found: Explanation) -> str:
    scale = found.scale
    if isinstance(scale, dict):
        return "noise of scale " + ", ".join(f"{each:.6g} on {quoted(name)}" for name, each in scale.items())
    items = ", divided by the number of items that its release names" if found.terms.counts_items else ""
    return f"noise of scale {scale:.6g}{items}"


def _doubts(found: Explanation) -> list[str]:
    if not found.findings:
        return []
    lines = [f"THE LEDGER DOES NOT HOLD up to here: findings {len(found.findings)}; `audit` tells all of them"]
    return lines + [f"  {line_of(finding)}" for finding in found.findings[:SHOWN]]


def _figures(found: Explanation) -> list[str]:
    figures: tuple[int, ...] = found.before
    legend: tuple[tuple[str, str], ...] = _USER_LEGEND if found.terms.level == "user" else _LEGEND
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
        lost = f"the windows up to here lost {after.regular_peak_nano} of {after.budget_nano} at most"
        return [f"  {lost}; the step after this one would get {rest.regular_nano}"]
    other = "another step" if found.reach is None else "the other steps of a window"
    spent = f"{after.landmark_spent_nano} spent on landmarks, {after.regular_peak_nano} at most on {other}"
    lines = [f"  {spent}: {after.left_nano} of {after.budget_nano} left"]
    if found.terms.level == "user":
        lines.append(f"  steps left: {after.landmarks_left}; the next one would get {rest.landmark_nano}")
    else:
        lines.append(
            f"  landmarks left: {after.landmarks_left}, for which {found.reserved_nano} are reserved; the next one "
            f"would get {rest.landmark_nano}, another step {rest.regular_nano}"
        )
    if found.earlier_nano:
        lines.append(f"  {found.earlier_nano} were lost under earlier policy versions")
    return lines


def _derived(formula: Formula) -> list[str]:
    lines = [f"  {formula.symbol} = {formula.rule}"]
    if formula.numbers != formula.rule:
        lines.append(f"  {' ' * len(formula.symbol)} = {formula.numbers}")
    if formula.numbers != str(formula.value):
        lines[-1] += f" = {formula.value}"
    lines[-1] += {"a": "  for a landmark", "g": "  for another step"}.get(formula.symbol, "")
    return lines


def _moment(timestamp: int) -> str:
    return datetime.fromtimestamp(timestamp / 1000, UTC).isoformat(timespec="milliseconds")
