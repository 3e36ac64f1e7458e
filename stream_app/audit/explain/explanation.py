"""One step's decision, explained: the earlier figures, the share, decision and cost, and the remaining budget."""

from typing import Any, NamedTuple

from stream_app.audit.books.terms import Terms, scale_of
from stream_app.audit.explain.formula import BudgetFigures, Reach, Shares
from stream_app.audit.finding import Finding
from stream_app.audit.form.entry import APPROXIMATED, PERTURBED, DummiesEntry, PolicyEntry, ReleaseEntry
from stream_app.audit.kinds.category import Choice
from stream_app.words.amount import NANO


class Explanation(NamedTuple):
    """One decision and its reasons, all taken from the ledger except `rate_nano`."""

    entry: ReleaseEntry
    policy: PolicyEntry  # in force
    dummies: DummiesEntry | None  # how its landmarks were drawn, if they were
    terms: Terms
    landmark: bool  # from the landmark set, not the entry
    before: BudgetFigures
    reach: Reach | None  # if consecutive steps are protected together
    opens_ms: int  # no spend before this: windows contain steps that an earlier version spent on
    shares: Shares  # at the figures before
    tosses: bool  # whether a coin or a private dissimilarity decides if there is a share
    after: BudgetFigures
    next: Shares  # shares of the next landmark and the next other step
    source_ms: int | None  # the last step published before this one in this period
    earlier_nano: int  # in earlier periods
    findings: tuple[Finding, ...]  # of this series, up to this entry
    rate_nano: int | None = None  # Adaptive's rate of publishing at this step, in 1e-9; None if unknown

    @property
    def share_nano(self) -> int:
        """The share that the scheme proposes for this step."""
        return self.shares.landmark_nano if self.landmark else self.shares.regular_nano

    @property
    def limit_nano(self) -> int:
        """The most that the guard allows for this step."""
        figures = self.before
        if self.entry.timestamp < self.opens_ms:
            return 0
        if self.reach is not None and not self.landmark:
            return self.reach.limit_nano
        peak = figures.regular_peak_nano if self.landmark else 0
        return figures.budget_nano - figures.landmark_spent_nano - peak

    @property
    def is_tossed(self) -> bool:
        """Whether a draw with the key made the decision."""
        return self.tosses and self.share_nano > 0

    @property
    def reserved_nano(self) -> int:
        """The epsilon that the scheme reserves after the step for remaining landmarks or late landmark units."""
        if self.terms.units is not None:
            return self.after.budget_nano - self.after.landmark_spent_nano - self.next.regular_nano
        return self.after.landmarks_left * self.next.landmark_nano

    @property
    def scale(self) -> float | dict[str, float] | None:
        """The scale of the noise in the unit of the values, or None if no noise was drawn.

        For a mean over a public number of items, it is the scale for one item, because the ledger omits the number of
        items.
        """
        spend = self.entry.epsilon_nano
        return scale_of(self.terms, spend, None) if spend >= self.terms.least_nano else None

    @property
    def unknown(self) -> str:
        """A sentence on what no record reveals about the step's value, or "" if the value comes from a single event."""
        terms = self.terms
        if terms.units is not None:
            told = "Its release says how many units these are. " if self.entry.decision == PERTURBED else ""
            found = f"The value is the {terms.statistic} of the step's units that have a reading and are not landmarks."
            return f"{found} {told}No record shows what was read in them."
        if terms.neighbours:
            what = "the choice among" if isinstance(terms.kind, Choice) else f"the {terms.statistic or 'counts'} of"
            told = (
                "Its release says how many; no record shows what"
                if terms.counts_items
                else "No record shows how many or what"
            )
            return f"The value is {what} the items that contributors sent. {told} they were."
        if not terms.within:
            return ""
        found = (
            f"The value is the {terms.within} of the step's readings. No record shows how many there were or what "
            "they were"
        )
        if terms.hides_absence:
            return (
                f"{found}, or whether there were any: without a reading, the policy's `absent` value counts as the "
                "reading."
            )
        return f"{found}."

    @property
    def reason(self) -> str:
        """A sentence that says why the step was perturbed, approximated or withheld."""
        entry, scheme = self.entry, self.terms.scheme.capitalize()
        if entry.decision == PERTURBED:
            if self.is_tossed:
                return f"{self._drawn} decided to publish. {self._secret}"
            if self.terms.compares:
                return "The first release of a period is not compared with an earlier one."
            if self.terms.tosses:
                return f"{scheme} publishes at rate 1 until two releases of the period can be compared."
            return f"{scheme} publishes whenever there is a share."
        why = f"{self._drawn} decided not to publish. {self._secret}" if self.is_tossed else self._nothing
        if self.is_tossed and self.terms.gaps:
            why = f"The step had no reading, or {why[0].lower()}{why[1:]}"
        if entry.decision == APPROXIMATED:
            return f"{why} The release repeats what is known from step {self.source_ms}."
        return f"{why} Nothing was released earlier in this period, so there is nothing to repeat."

    @property
    def _nothing(self) -> str:
        if 0 < self.share_nano < self.terms.least_nano:
            return "A share of 1 cannot be halved between the sum and the number of items, so it draws no noise."
        if self.share_nano > 0 and self.terms.gaps:
            return "The step had no reading, and the policy fills such gaps at no cost (`absent`)."
        if self.share_nano > 0:
            return f"A share of {self.share_nano} was left unused, but {self.terms.scheme} never leaves any unused."
        if self.entry.timestamp < self.opens_ms:
            return (
                f"Until {self.opens_ms}, windows contain steps on which an earlier version spent epsilon, so this "
                "version waits."
            )
        if self.landmark and self.leaves_out:
            of_share = "" if self.terms.scheme == "skip" else ": its regular share is 1"
            return f"{self.terms.scheme.capitalize()} gives landmarks nothing{of_share}."
        return "The share is 0, and a share of 0 draws no noise."

    @property
    def leaves_out(self) -> bool:
        """Whether the scheme gives a landmark no share, even if it is the only one and nothing is spent yet."""
        terms = self.terms
        nothing = terms.scheme in {"skip", "balanced"} and terms.share(0, 0, 1, True) == 0  # noqa: FBT003 - as `Share`
        return nothing and terms.units is None

    @property
    def _drawn(self) -> str:
        return "The private dissimilarity" if self.terms.compares else "The coin"

    @property
    def _secret(self) -> str:
        if self.terms.compares:
            return "It was measured with noise drawn from the key and cannot be shown."
        rate = "follows from earlier releases, which were not read or are incomplete"
        if self.rate_nano is not None:
            whole, rest = divmod(self.rate_nano, NANO)
            rate = f"was {f'{whole}.{rest:09d}'.rstrip('0').rstrip('.')}, as follows from the earlier releases"
        return f"It is drawn from the noise key and cannot be shown. The rate {rate}."

    def document(self) -> dict[str, Any]:
        """Return the explanation as a JSON document, with all amounts in nano-epsilon."""
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
            "unknown": self.unknown,
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
