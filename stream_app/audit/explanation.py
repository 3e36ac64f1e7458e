"""Why one step was decided as it was: the figures before it, the share, the decision, its cost, and what it left."""

from datetime import UTC, datetime
from textwrap import wrap
from typing import Any, Final, NamedTuple

from stream_app.audit.entry import APPROXIMATED, PERTURBED, PolicyEntry, ReleaseEntry
from stream_app.audit.finding import Finding
from stream_app.audit.formula import Figures, Formula, Shares
from stream_app.audit.report import epsilon, line_of, quoted
from stream_app.audit.terms import NANO, Terms

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
_USER_LEGEND: Final = (("E", "budget"), ("S", "spent"), ("M", "0: all steps are landmarks"), ("R", "steps left"))


class Explanation(NamedTuple):
    """One decision and what it follows from, by the ledger alone but for `rate_nano`."""

    entry: ReleaseEntry
    policy: PolicyEntry  # in force
    terms: Terms
    landmark: bool  # by the landmark set, whatever the entry says
    before: Figures
    shares: Shares  # at the figures before
    tosses: bool  # whether a coin was to be tossed, had there been a share
    after: Figures
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
        peak = figures.regular_peak_nano if self.landmark else 0
        return figures.budget_nano - figures.landmark_spent_nano - peak

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
        entry, share = self.entry, self.share_nano
        coin = self.tosses and share > 0
        if entry.decision == PERTURBED:
            if coin:
                return f"The coin said to publish. {self._coin}"
            if self.terms.tosses:
                return "Adaptive publishes at rate 1 until two releases of the period can be compared."
            return f"{self.terms.scheme.capitalize()} publishes whenever there is a share."
        why = f"The coin said not to publish, which spends nothing. {self._coin}" if coin else self._nothing
        if entry.decision == APPROXIMATED:
            return f"{why} The release repeats what is known from step {self.source_ms}."
        return f"{why} Nothing was released before in this period, so there is nothing to repeat."

    @property
    def _nothing(self) -> str:
        if self.share_nano > 0:
            return f"A share of {self.share_nano} was left unused, which {self.terms.scheme} never does."
        if self.landmark and self.terms.scheme == "skip":
            return "Skip gives landmarks nothing."
        return "The share is 0, and a share of 0 draws no noise."

    @property
    def _coin(self) -> str:
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
            "landmark": self.landmark,
            "before": {**self.before._asdict(), "left_nano": self.before.left_nano},
            "share": {
                "formulas": [formula._asdict() for formula in self.shares.formulas],
                "landmark_nano": self.shares.landmark_nano,
                "regular_nano": self.shares.regular_nano,
                "proposed_nano": self.share_nano,
                "limit_nano": self.limit_nano,
            },
            "decision": entry.decision,
            "reason": self.reason,
            "coin": self.tosses and self.share_nano > 0,
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

    def text(self) -> str:
        """Return the explanation for a reader."""
        entry, terms = self.entry, self.terms
        when = f"{_moment(entry.timestamp)} ({entry.timestamp})"
        policy = f"policy {terms.version} (entry {self.policy.sequence})"
        lines = [
            f"{quoted(entry.series)} at {when}: {entry.decision}, spent {epsilon(entry.epsilon_nano)}",
            f"entry {entry.sequence}, under {policy}: {terms.scheme}, level {terms.level}, steps of {terms.step_ms} ms",
            *self._doubts(),
            "",
            "Before the step, in nano-epsilon",
        ]
        legend = _USER_LEGEND if terms.level == "user" else _LEGEND
        width = len(str(max(self.before)))
        for (symbol, meaning), figure in zip(legend, self.before, strict=True):
            lines.append(f"  {symbol}  {figure:>{width}}  {meaning}")
        lines += ["", f"The share, by {terms.scheme}"]
        for formula in self.shares.formulas:
            lines += _derived(formula)
        whose = "a landmark" if self.landmark else "no landmark"
        lines += [
            "",
            "The decision",
            f"  The step is {whose}: {terms.scheme} proposes {self.share_nano}; the guard allows {self.limit_nano}.",
            *(f"  {line}" for line in wrap(self.reason, WIDTH)),
        ]
        if self.scale is not None:
            lines.append(f"  {entry.epsilon_nano} were spent, for noise of scale {self.scale:.6g}.")
        lines += ["", "After the step, in nano-epsilon", *self._rest()]
        return "\n".join(lines)

    def _doubts(self) -> list[str]:
        if not self.findings:
            return []
        lines = [f"THE LEDGER DOES NOT HOLD up to here: findings {len(self.findings)}; `audit` tells all of them"]
        return lines + [f"  {line_of(finding)}" for finding in self.findings[:SHOWN]]

    def _rest(self) -> list[str]:
        after, rest = self.after, self.next
        spent = f"{after.landmark_spent_nano} spent on landmarks, {after.regular_peak_nano} at most on another step"
        lines = [f"  {spent}: {after.left_nano} of {after.budget_nano} left"]
        if self.terms.level == "user":
            lines.append(f"  steps left: {after.landmarks_left}; the next one would get {rest.landmark_nano}")
        else:
            lines.append(
                f"  landmarks left: {after.landmarks_left}, for which {self.reserved_nano} are reserved; the next one "
                f"would get {rest.landmark_nano}, another step {rest.regular_nano}"
            )
        if self.earlier_nano:
            lines.append(f"  {self.earlier_nano} were lost under earlier policy versions")
        return lines


def _derived(formula: Formula) -> list[str]:
    lines = [f"  {formula.symbol} = {formula.rule}"]
    if formula.numbers != formula.rule:
        lines.append(f"  {' ' * len(formula.symbol)} = {formula.numbers}")
    if formula.numbers != str(formula.value):
        lines[-1] += f" = {formula.value}"
    lines[-1] += "  for a landmark" if formula.symbol == "a" else "  for another step"
    return lines


def _moment(timestamp: int) -> str:
    return datetime.fromtimestamp(timestamp / 1000, UTC).isoformat(timespec="milliseconds")


def _decimal(nano: int) -> str:
    whole, rest = divmod(nano, NANO)
    return f"{whole}.{rest:09d}".rstrip("0").rstrip(".")
