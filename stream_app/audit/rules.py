"""State shared by all series of an audit: lifetime bound, limits per person, and terms read so far."""

from collections.abc import Callable
from typing import Final

from stream_app.audit.books.guarantee import Guarantee
from stream_app.audit.books.members import Members
from stream_app.audit.books.terms import Terms, read_terms, with_epsilon
from stream_app.audit.finding import Remark
from stream_app.audit.form.entry import PolicyEntry
from stream_app.audit.form.reader import spelt
from stream_app.words.amount import UsedBudget

MOST_TERMS: Final = 1_000  # policies whose terms are kept for later series


class Rules:
    """State shared by all series, including what they need and have used.

    Terms are shared too, because most series follow one of a few policies.
    """

    def __init__(self, lifetime_nano: int | None, remark: Callable[[Remark], None] | None = None) -> None:
        self.lifetime_nano = lifetime_nano
        self.needed_nano = 0  # the smallest lifetime sufficient for every series; ledgers do not state it
        self.needy = ""  # the series that needs it
        self.replaced = False  # whether any series had a further policy version; if not, its lifetime is epsilon
        self.remark = remark or (lambda _: None)  # called with each remark
        self.members = Members()  # adds up what each person's series reserve
        self.used: UsedBudget | None = None  # the policy version with the largest share used
        self._known: dict[str, Terms] = {}
        self._alike: dict[str, Terms] = {}  # terms by their policy without its epsilon

    def need(self, promised_nano: int, series: str) -> None:
        """Record a series' total guarantee if it is the largest so far."""
        if promised_nano > self.needed_nano:
            self.needed_nano, self.needy = promised_nano, series

    def use(self, series: str, policy: int, spent: Guarantee) -> None:
        """Record how much of its epsilon a policy version used by the end of the version or of the ledger.

        Do nothing if the series has no policy yet.
        """
        if spent.budget_nano:
            used = UsedBudget(series, policy, spent.period_nano, spent.budget_nano)
            if self.used is None or used.worse(self.used):
                self.used = used

    def terms(self, entry: PolicyEntry) -> Terms:
        """Return the terms of a policy; raises `TermsError` for unknown parameters."""
        spelling = f"{entry.policy} {spelt(entry.parameters)}"
        terms = self._known.get(spelling)
        if terms is None:
            alike = f"{entry.policy} {spelt({**entry.parameters, 'epsilon': None})}"
            known = self._alike.get(alike)
            if known is None:
                terms = _keep(self._alike, alike, read_terms(entry.policy, entry.parameters))
            else:
                terms = with_epsilon(known, entry.parameters)
            _keep(self._known, spelling, terms)
        return terms


def _keep(known: dict[str, Terms], spelling: str, terms: Terms) -> Terms:
    if len(known) >= MOST_TERMS:
        known.clear()
    known[spelling] = terms
    return terms
