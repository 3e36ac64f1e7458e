"""`plan` and `verify`: a policy's cost and a lower bound on its privacy loss, before there is data."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import date, timedelta
from itertools import chain
from pathlib import Path
from typing import Any, Final

from stream_app.api.given import Error, finite, path_of, told, whole
from stream_app.api.parts import Time, plain
from stream_app.api.policy import Policy, compiled
from stream_app.api.tables import Frame, Table
from stream_app.api.unitplans import PlanOfUnits, plan_of_units
from stream_app.api.views import Html, Page, paragraph
from stream_app.loss.planning import PlanError
from stream_app.loss.temporal import Adversary
from stream_app.outlook.bound import within_of
from stream_app.outlook.course import CourseError, HorizonError, horizon_of
from stream_app.outlook.loud import loud
from stream_app.outlook.outlook import Outlook, outlooks
from stream_app.outlook.request import PlanRequest
from stream_app.outlook.units.table import Planned
from stream_app.privacy import policy as core
from stream_app.privacy.values import exact
from stream_app.setup import correlationfile, keyfile
from stream_app.setup.settings import Settings
from stream_app.verify.experiment import experiment, gathered, here
from stream_app.verify.trial import UnusableError
from stream_app.verify.verdict import Judgement, Verdict, verdict
from stream_app.words.odds import in_odds


class Plan(Page):
    """The cost of a policy under each scheme of its level; ``table`` has one row per scheme and side.

    ``within`` says how much each event may spend so that temporal loss stays within the requested bound; it is None if
    no bound is requested.
    """

    def __init__(
        self,
        policy: Policy,
        request: PlanRequest,
        found: tuple[Outlook, ...],
        within: Mapping[str, float | None] | None = None,
        note: str = "",
    ) -> None:
        self.policy: Final = policy
        self.within: Final = within
        self._request: Final = request
        self._note: Final = note
        rows = chain.from_iterable(_rows(each, request) for each in found)
        self.table: Final = Table(rows, title="Cost by scheme (* the policy's own scheme)")

    def __str__(self) -> str:
        return "\n".join([str(self.policy), *self._lines(), str(self.table)])

    def __repr__(self) -> str:
        return f"<Plan of {self.policy!r}: {len(self.table)} rows>"

    def html(self) -> Html:
        """Return, as HTML, the policy in words and the table."""
        return Html(paragraph(repr(self.policy), "\n".join([str(self.policy), *self._lines()])) + self.table.html())

    def _lines(self) -> Iterator[str]:
        horizon, ruled = self._request.horizon, self._request.policy
        yield in_odds(ruled.epsilon_nano)
        if (found := loud(ruled)) is not None:
            yield f"note: {found.sentence}"
        yield f"{horizon.events:,} events; errors of a noisy value: {ruled.kind.error_unit}"
        if self.within is not None:
            yield (
                f"temporal loss stays within {self.within['bound']:g} under any scheme if every event spends at most "
                f"{self.within['constant']:.4g} forever, or {self.within['even']:.4g} over these events"
            )
        if self._note:
            yield f"{self._note} (config=)"


class Verified(Page):
    """The verdict on a policy's noise; truthy if the verdict is ``holds``.

    The verdict is ``holds`` if, at a confidence of 1 - 10^-6, a bound of the control exceeds the declared loss and no
    bound of the policy does. The bounds in the table are those at 95 % confidence.
    """

    def __init__(self, policy: Policy, found: Verdict) -> None:
        self.policy: Final = policy
        self._found: Final = found

    @property
    def verdict(self) -> str:
        """``holds``, ``broken`` or ``no-power``."""
        return self._found.judgement.name.lower().replace("_", "-")

    @property
    def table(self) -> Table:
        """One row per pair of neighbours: the declared loss, and lower bounds for the policy and its control."""
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


def plan(  # noqa: PLR0913 - as `plan` has options, all but one by name
    policy: Policy,
    *,
    steps: int | None = None,
    every_ms: int | timedelta | None = None,
    start: Time | None = None,
    correlation: str | Path | None = None,
    bound: float | None = None,
    error: float | None = None,
    statistic: Planned | None = None,
    step: str | timedelta | None = None,
    data: Frame | None = None,
    config: str | Path | None = None,
) -> Plan | PlanOfUnits:
    """Return a policy's cost under each scheme, before there is data: budgets, noise and expected error.

    For a policy whose steps contain units (``unit=``), the plan is instead the error of the statistic by unit, window
    and span. ``error`` then finds the epsilon, or the unit, at which a statistic over ``step`` ("day", "week", "30
    days", a duration; by default the policy's step) has that mean error. ``data`` is a frame of raw readings with the
    columns ``series`` (optional), ``timestamp`` and ``value``. With ``data``, the plan adds the error of a constant
    baseline to each error, and warns if a unit is shorter than the time for which values stay similar. These results
    depend on raw values. ``statistic`` ("mean" or "sum"), ``step`` and ``data`` also work for a policy of single
    numbers, as if each step were a unit.

    ``steps`` is the number of events, ``every_ms`` the time between them, and ``start`` the time of the first; by
    default they follow from the policy. ``correlation`` is a file from the `correlate` command, used to predict
    temporal loss. By default it is the correlation that the policy names, from the configuration file ``config``.
    ``bound`` finds the epsilon that keeps temporal loss within that bound. For collected data, the plan finds how many
    contributors keep the error of a release within ``error``.

    Raises:
        Error: for a horizon that cannot be planned, for an unreadable correlation, for a bound that has no
            correlation or that no epsilon meets, and for an ``error`` if data is not collected.
    """
    found = compiled(policy)
    if isinstance(start, str | date) and not isinstance(plain(start, "start"), int):
        raise Error.of("start", "is not a time; use integer milliseconds or a datetime with a zone")
    moment = "use integer milliseconds or a datetime with a zone"
    start_ms = None if start is None else whole(plain(start, "start"), "start", moment, 0)
    apart = None if every_ms is None else whole(every_ms, "every_ms", "use milliseconds or a timedelta")
    events = None if steps is None else whole(steps, "steps", "use the number of events")
    wanted = None if error is None else exact(finite(error, "error", "use an error in the value's unit"))
    if found.units is not None or any(given is not None for given in (statistic, step, data)):
        given = {"steps": steps, "every_ms": every_ms, "start": start, "correlation": correlation, "bound": bound}
        if others := [name for name, value in given.items() if value is not None]:
            raise Error.of(others[0], "only for single events, not for statistics of units; omit it")
        return plan_of_units(policy, statistic, step, wanted, data)
    if wanted is not None and found.collect is None:
        remedy = 'omit it, or add its span, as in step="day"'
        raise Error.of("error", f"only for statistics of units, or for collected data; {remedy}")
    most = None if bound is None else finite(bound, "bound", "use the largest temporal loss that you allow")
    adversary, note = _adversary(found, correlation, config)
    if most is not None and adversary is None:
        raise Error.of(
            "bound",
            f"limits temporal loss, so it needs a correlation; specify a file with correlation=. {note}".strip(),
        )
    try:
        horizon = horizon_of(found, every_ms=apart, events=events, start_ms=start_ms)
        request = PlanRequest(found, horizon, adversary, most, wanted)
        within = within_of(request)
        return Plan(policy, request, tuple(outlooks(request, lambda: None)), within, note)
    except HorizonError as wrong:
        member = _MEMBERS[wrong.option]
        problem = str(wrong).removeprefix(f"{wrong.option}: ")
        for option, name in _MEMBERS.items():
            problem = problem.replace(option, name)
        raise Error.of(member, problem) from None
    except CourseError as wrong:
        raise Error.of("policy", str(wrong)) from None
    except PlanError as wrong:
        raise Error.of("bound", str(wrong)) from None


_MEMBERS: Final = {"--every": "every_ms", "--steps": "steps", "--start": "start"}


def _adversary(
    policy: core.Policy, correlation: str | Path | None, config: str | Path | None
) -> tuple[Adversary | None, str]:
    file = None if correlation is None else path_of(correlation, "correlation", "a file that `correlate` wrote")
    settings = None if config is None else path_of(config, "config", "a settings file")
    try:
        with told():
            return correlationfile.adversary_of(file, policy.correlation, lambda: Settings.load(settings).correlations)
    except correlationfile.CorrelationFileError as error:
        raise Error.of("correlation", str(error)) from None


def verify(policy: Policy, *, runs: int = 2_000) -> Verified:
    """Return the verdict on a policy's noise, from real decisions on synthetic neighbours.

    Each history is run ``runs`` times. More runs find rarer faults; the `verify` command uses 20,000. All runs use this
    process only.

    Raises:
        Error: for a policy that cannot be verified.
    """
    runs = whole(runs, "runs", "use the number of runs of each history")
    # PRIVACY: the data is synthetic, and the key comes from no key file and is discarded with the run.
    try:
        tried = experiment(compiled(policy).parameters, keyfile.fresh_secret())
    except UnusableError as error:
        raise Error.of("policy", str(error)) from None
    with closing(here(tried, tried.parts(runs))) as results:
        return Verified(policy, verdict(tried, gathered(tried, runs, results, lambda _done, _total: True)))


def _rows(found: Outlook, request: PlanRequest) -> Iterator[dict[str, Any]]:
    losses: dict[str, Any] = {} if found.loss is None else {"temporal_loss": max(found.loss.total)}
    if request.bound is not None:
        losses["epsilon_within"] = found.epsilon_within
    for side, figures in (("landmark", found.landmark), ("regular", found.regular)):
        if figures.steps:
            means = {name: mean.mean for name, mean in figures.means() if mean is not None}
            own = "*" if found.variant.own else ""
            label = f"{found.variant.label}{own}"
            counted = {} if request.error is None else {"contributors": figures.contributors}
            row = {"scheme": label, "steps": side, "count": figures.steps, "published": figures.published}
            yield row | means | losses | counted
