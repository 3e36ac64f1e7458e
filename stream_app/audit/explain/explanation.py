"""Why one step was decided as it was: the figures before it, the share, the decision, its cost, and what it left."""

from datetime import UTC, datetime
from textwrap import wrap
from typing import Any, Final, NamedTuple

from stream_app.audit.books.terms import NANO, Terms
from stream_app.audit.explain.formula import BudgetFigures, Formula, Reach, Shares
from stream_app.audit.finding import Finding
from stream_app.audit.form.entry import APPROXIMATED, PERTURBED, DummiesEntry, PolicyEntry, ReleaseEntry
from stream_app.audit.report.report import epsilon, line_of, quoted


class Explanation(NamedTuple):
    """One decision and what it follows from, by the ledger alone but for `rate_nano`."""

    entry: ReleaseEntry
    policy: PolicyEntry  # in force
    dummies: DummiesEntry | None  # how its landmarks were drawn, where they were
    terms: Terms
    landmark: bool  # by the landmark set, whatever the entry says
    before: BudgetFigures
    reach: Reach | None  # where any steps in a row are protected together
    opens_ms: int  # before it the version waits, as windows hold steps that an earlier version spent on
    shares: Shares  # at the figures before
    tosses: bool  # whether a coin or a private dissimilarity was to decide, had there been a share
    after: BudgetFigures
    next: Shares  # what the next landmark and the next other step would get
    source_ms: int | None  # the step perturbed last before this one, in this period
    earlier_nano: int  # lost in earlier periods
    findings: tuple[Finding, ...]  # of this series, up to this entry
    rate_nano: int | None = None  # Adaptive's rate of publishing at this step, in 1e-9; None where not known

    @property
    def share_nano(self) -> int:
        """What the scheme proposes for this step."""
        return self.shares.landmark_nano if self.landmark else self.shares.regular_nano

    @property
    def limit_nano(self) -> int:
        """What the guard allows for this step."""
        figures = self.before
        if self.entry.timestamp < self.opens_ms:
            return 0
        if self.reach is not None and not self.landmark:
            return self.reach.limit_nano
        peak = figures.regular_peak_nano if self.landmark else 0
        return figures.budget_nano - figures.landmark_spent_nano - peak

    @property
    def is_tossed(self) -> bool:
        """Whether something drawn under the key decided."""
        return self.tosses and self.share_nano > 0

    @property
    def reserved_nano(self) -> int:
        """What the scheme holds back after the step for the landmarks left."""
        return self.after.landmarks_left * self.next.landmark_nano

    @property
    def scale(self) -> float | None:
        """The scale of the noise in the unit of the values; None where nothing was drawn."""
        spend, scale = self.entry.epsilon_nano, self.terms.scale_nano
        return scale.numerator / (scale.denominator * spend) if spend else None

    @property
    def reason(self) -> str:
        """Why the step was perturbed, approximated or withheld, as a sentence."""
        entry, scheme = self.entry, self.terms.scheme.capitalize()
        if entry.decision == PERTURBED:
            if self.is_tossed:
                return f"{self._drawn} said to publish. {self._secret}"
            if self.terms.compares:
                return "The first release of a period is compared with none."
            if self.terms.tosses:
                return f"{scheme} publishes at rate 1 until two releases of the period can be compared."
            return f"{scheme} publishes whenever there is a share."
        why = f"{self._drawn} said not to publish. {self._secret}" if self.is_tossed else self._nothing
        if entry.decision == APPROXIMATED:
            return f"{why} The release repeats what is known from step {self.source_ms}."
        return f"{why} Nothing was released before in this period, so there is nothing to repeat."

    @property
    def _nothing(self) -> str:
        if self.share_nano > 0:
            return f"A share of {self.share_nano} was left unused, which {self.terms.scheme} never does."
        if self.entry.timestamp < self.opens_ms:
            return f"Until {self.opens_ms} windows hold steps that an earlier version spent on, so this one waits."
        if self.landmark and self.terms.scheme == "skip":
            return "Skip gives landmarks nothing."
        return "The share is 0, and a share of 0 draws no noise."

    @property
    def _drawn(self) -> str:
        return "The private dissimilarity" if self.terms.compares else "The coin"

    @property
    def _secret(self) -> str:
        if self.terms.compares:
            return "It was measured with noise under the key and cannot be shown."
        rate = "follows from the releases before, which were not read or are not all there"
        if self.rate_nano is not None:
            rate = f"was {_decimal(self.rate_nano)}, as follows from the releases before"
        return f"It is drawn under the noise key and cannot be shown; the rate {rate}."

    def document(self) -> dict[str, Any]:
        """Return the explanation for programs; all amounts in nano-epsilon."""
        entry, terms = self.entry, self.terms
        return {
            "series": entry.series,
            "timestamp": entry.timestamp,
            "sequence": entry.sequence,
            "policy": {
                "version": terms.version,
                "sequence": self.policy.sequence,
                "level": terms.level,
                "scheme": terms.scheme,
                "step_ms": terms.step_ms,
                "filtered": terms.filtered,
            },
            "dummies_nano": None if self.dummies is None else self.dummies.charged_nano,
            "landmark": self.landmark,
            "before": {**self.before._asdict(), "left_nano": self.before.left_nano},
            "window": None if self.reach is None else {**self.reach._asdict(), "opens_ms": self.opens_ms},
            "share": {
                "formulas": [formula._asdict() for formula in self.shares.formulas],
                "landmark_nano": self.shares.landmark_nano,
                "regular_nano": self.shares.regular_nano,
                "proposed_nano": self.share_nano,
                "limit_nano": self.limit_nano,
            },
            "decision": entry.decision,
            "reason": self.reason,
            "coin": self.is_tossed,
            "rate_nano": self.rate_nano,
            "epsilon_nano": entry.epsilon_nano,
            "scale": self.scale,
            "source": self.source_ms if entry.decision == APPROXIMATED else None,
            "after": {
                **self.after._asdict(),
                "left_nano": self.after.left_nano,
                "reserved_nano": self.reserved_nano,
                "next_landmark_nano": self.next.landmark_nano,
                "next_regular_nano": self.next.regular_nano,
                "earlier_periods_nano": self.earlier_nano,
            },
            "findings": [finding._asdict() for finding in self.findings],
        }


def _decimal(nano: int) -> str:
    whole, rest = divmod(nano, NANO)
    return f"{whole}.{rest:09d}".rstrip("0").rstrip(".")


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
    if found.scale is not None:
        lines.append(f"  {entry.epsilon_nano} were spent, for noise of scale {found.scale:.6g}.")
    if found.reach is not None and found.reach.charge_nano and entry.timestamp >= found.opens_ms:
        lines.append(f"  The private dissimilarity cost {found.reach.charge_nano}, as at every event.")
    lines += ["", "After the step, in nano-epsilon", *_rest(found)]
    return "\n".join(lines)


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
