"""What holds for all series of an audit: the lifetime bound, the members' caps, the terms of policies read before."""

from collections.abc import Callable
from typing import Final

from stream_app.audit.books.guarantee import Guarantee
from stream_app.audit.books.members import Members
from stream_app.audit.books.terms import Terms, read_terms, with_epsilon
from stream_app.audit.finding import Remark
from stream_app.audit.form.entry import PolicyEntry
from stream_app.audit.form.reader import spelt
from stream_app.words.amount import Used

MOST_TERMS: Final = 1_000  # policies whose terms are kept for the series that come after


class Rules:
    """What holds for all series, and what they need and used of it; most share the terms of few policies."""

    def __init__(self, lifetime_nano: int | None, remark: Callable[[Remark], None] | None = None) -> None:
        self.lifetime_nano = lifetime_nano
        self.needed_nano = 0  # the smallest lifetime under which no series promised too much: no ledger tells its own
        self.needy = ""  # the series that needs all of it
        self.replaced = False  # whether any series had a further policy version; else its lifetime is its epsilon
        self.remark = remark or (lambda _: None)  # is called with each remark
        self.members = Members()  # adds up the claims of each member's series
        self.used: Used | None = None  # of the policy versions that were noted, that with the largest share used
        self._known: dict[str, Terms] = {}
        self._alike: dict[str, Terms] = {}  # some terms by all of their policy but its epsilon

    def need(self, promised_nano: int, series: str) -> None:
        """Note what a series promised in all."""
        if promised_nano > self.needed_nano:
            self.needed_nano, self.needy = promised_nano, series

    def use(self, series: str, policy: int, spent: Guarantee) -> None:
        """Note what a policy version has used of its promise by its end, or by the ledger's; before any, nothing."""
        if spent.budget_nano:
            used = Used(series, policy, spent.period_nano, spent.budget_nano)
            if self.used is None or used.worse(self.used):
                self.used = used

    def terms(self, entry: PolicyEntry) -> Terms:
        """Return the terms of a policy; raises `TermsError` for parameters that are not known."""
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
