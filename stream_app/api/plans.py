"""`plan` and `verify`: what a policy will cost, and how much its releases tell at least, before there are any data."""

from collections.abc import Iterator
from contextlib import closing
from datetime import date
from itertools import chain
from typing import Any, Final

from stream_app.api.errors import Error
from stream_app.api.parts import Time, plain
from stream_app.api.policy import Policy, compiled
from stream_app.api.tables import Table
from stream_app.api.views import Html, Page, paragraph
from stream_app.outlook.course import CourseError
from stream_app.outlook.error import unit
from stream_app.outlook.horizon import HorizonError, horizon_of
from stream_app.outlook.outlook import Outlook, outlooks
from stream_app.outlook.request import PlanRequest
from stream_app.setup import keyfile
from stream_app.verify.experiment import experiment, gathered, here
from stream_app.verify.trial import UnusableError
from stream_app.verify.verdict import Judgement, Verdict, verdict


class Plan(Page):
    """What a policy costs under each scheme of its level; ``table`` has a row a scheme and side."""

    def __init__(self, policy: Policy, request: PlanRequest, found: tuple[Outlook, ...]) -> None:
        self.policy: Final = policy
        self._request: Final = request
        self.table: Final = Table(chain.from_iterable(map(_rows, found)), title="Cost by scheme (* the policy's own)")

    def __str__(self) -> str:
        return f"{self.policy}\n{self._errors}\n{self.table}"

    def __repr__(self) -> str:
        return f"<Plan of {self.policy!r}: {len(self.table)} rows>"

    def html(self) -> Html:
        """Return the policy in words and the table as HTML."""
        return Html(paragraph(repr(self.policy), f"{self.policy}\n{self._errors}") + self.table.html())

    @property
    def _errors(self) -> str:
        horizon = self._request.horizon
        return f"{horizon.events:,} events; errors of a measurement are {unit(self._request.policy.kind)}"


class Verified(Page):
    """The verdict on the noise of a policy; true where no bound passes what is declared, and one would have."""

    def __init__(self, policy: Policy, found: Verdict) -> None:
        self.policy: Final = policy
        self._found: Final = found

    @property
    def verdict(self) -> str:
        """``holds``, ``broken`` or ``no-power``."""
        return self._found.judgement.name.lower().replace("_", "-")

    @property
    def table(self) -> Table:
        """A row a pair of neighbours: what is declared, and what is told at least, of the policy and its control."""
        rows = [
            {
                "pair": result.pair,
                "declared": result.declared,
                "at_least": result.measured.shown,
                "control": result.control.shown,
                "runs": result.measured.runs,
            }
            for result in self._found.results
        ]
        return Table(rows, title=self.verdict)

    def __bool__(self) -> bool:
        return self._found.judgement is Judgement.HOLDS

    def __str__(self) -> str:
        return f"{self.verdict}\n{self.table}"

    def __repr__(self) -> str:
        return f"<Verified: {self.verdict}>"

    def html(self) -> Html:
        """Return the verdict and the table as HTML."""
        return self.table.html()


def plan(policy: Policy, *, steps: int | None = None, every_ms: int | None = None, start: Time | None = None) -> Plan:
    """Return what a policy will cost under each scheme, before there are data: budgets, noise and expected error.

    ``steps`` is how many events come, ``every_ms`` how far apart, ``start`` when the first does; else they follow from
    the policy.

    Raises:
        Error: for a horizon that cannot be planned.
    """
    found = compiled(policy)
    if isinstance(start, str | date) and not isinstance(plain(start, "start"), int):
        raise Error.of("start", "is no moment; write integer milliseconds or a datetime with a zone")
    start_ms = None if start is None else plain(start, "start")
    try:
        horizon = horizon_of(found, every_ms=every_ms, events=steps, start_ms=start_ms)
        request = PlanRequest(found, horizon, None, None)
        return Plan(policy, request, tuple(outlooks(request, lambda: None)))
    except HorizonError as error:
        member = {"--every": "every_ms", "--steps": "steps", "--start": "start"}[error.option]
        raise Error.of(member, str(error).removeprefix(f"{error.option}: ")) from None
    except CourseError as error:
        raise Error.of("policy", str(error)) from None


def verify(policy: Policy, *, runs: int = 2_000) -> Verified:
    """Return the verdict on a policy's noise: the real decisions run on made-up neighbours, ``runs`` times each.

    More runs find less; the command `verify` takes 20,000. It works in this process alone.

    Raises:
        Error: for a policy that cannot be verified.
    """
    # PRIVACY: what is decided is made up, and the key is no key file's and goes with the run.
    try:
        tried = experiment(compiled(policy).parameters, keyfile.fresh_secret())
    except UnusableError as error:
        raise Error.of("policy", str(error)) from None
    with closing(here(tried, tried.parts(runs))) as results:
        return Verified(policy, verdict(tried, gathered(tried, runs, results, lambda _done, _total: True)))


def _rows(found: Outlook) -> Iterator[dict[str, Any]]:
    for side, figures in (("landmark", found.landmark), ("regular", found.regular)):
        if figures.steps:
            means = {name: mean.mean for name, mean in figures.means() if mean is not None}
            own = "*" if found.variant.own else ""
            label = f"{found.variant.label}{own}"
            yield {"scheme": label, "steps": side, "count": figures.steps, "published": figures.published, **means}
