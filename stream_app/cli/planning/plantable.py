"""The result of ``plan`` for one policy, and the table that shows it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from stream_app.calendar.words import duration_in_words
from stream_app.cli.shared.policytimes import PolicyTimes
from stream_app.cli.shared.terminal import say
from stream_app.outlook.loud import loud
from stream_app.outlook.outlook import Crowd, MeanRange, Outlook
from stream_app.outlook.request import PlanRequest
from stream_app.outlook.ward import MOST_CONTRIBUTORS, WANTED, within_words
from stream_app.privacy.kinds import Choice
from stream_app.privacy.values import NANO
from stream_app.words.amount import four_digits
from stream_app.words.odds import in_odds
from stream_app.words.promise import wrapped

NARROWEST = 100  # minimum width of the table in a pipe, in characters


class Plan(NamedTuple):
    """A policy with its costs under each scheme."""

    times: PolicyTimes
    request: PlanRequest
    outlooks: list[Outlook]
    crowds: list[Crowd]  # landmarks and noise; empty for levels without landmarks
    within: Mapping[str, Any] | None
    """The epsilon that each event may spend to meet the requested bound, under any scheme."""
    promise: str  # the policy's guarantee, as a paragraph
    note: str  # why no temporal loss is predicted; empty if predicted or not requested

    @property
    def series(self) -> str:
        """The series of the policy."""
        return self.times.series

    @property
    def versions(self) -> int:
        """Maximum number of successive versions; all but the first are renewals."""
        return 1 + len(self.request.policy.renew)

    @property
    def lifetime_nano(self) -> int:
        """Maximum total cost of all these versions, in nano-epsilon."""
        return self.versions * self.request.policy.epsilon_nano

    @property
    def ward(self) -> str | None:
        """The purpose of the contributor counts; None if they were not requested or there are no contributors."""
        wanted = self.request.error
        return None if wanted is None else within_words(self.request.policy, float(wanted))

    def notes(self) -> Iterator[str]:
        """Yield a note for anything that looks wrong or too noisy."""
        yield from self.times.warnings()
        yield from noise_notes(self.times)

    @property
    def landmarks(self) -> int:
        """Number of landmarks among the horizon's events."""
        return max(outlook.landmark.steps for outlook in self.outlooks)


def print_plan(plan: Plan) -> None:
    """Print a plan as a table."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, NARROWEST)
    for line in _head(plan):
        say(line)
    console.print(_table(plan))
    if plan.crowds:
        console.print("Landmarks and noise: mean scale under the policy's own scheme")
        console.print(_noise(plan.crowds))
    for line in _lines(plan):
        say(line)


def _head(plan: Plan) -> Iterator[str]:
    policy, horizon = plan.request.policy, plan.request.horizon
    yield (
        f"{plan.times.whose}: epsilon {policy.epsilon_nano / NANO:g}; {horizon.events} events, "
        f"{duration_in_words(horizon.every_ms)} apart, {plan.landmarks} of them landmarks; "
        f"errors: {policy.kind.error_unit}"
    )
    far = policy.kind.largest_change
    if isinstance(far, dict):
        yield f"sensitivity: {', '.join(f'{name} {distance:g}' for name, distance in far.items())}"
    elif far is not None and policy.collect is not None:
        yield f"sensitivity: {far:g}"
    yield plan.times.words
    yield from (f"note: {note}" for note in plan.notes())
    yield wrapped(plan.promise)
    yield wrapped(in_odds(policy.epsilon_nano))


def _table(plan: Plan) -> Table:
    table = Table()
    for name in ("scheme", "steps"):
        table.add_column(name, no_wrap=True)
    for name in ("published", "epsilon", "scale", "error"):
        table.add_column(name, justify="right")
    adversary, bound = plan.request.adversary, plan.request.bound
    if adversary is not None:
        table.add_column("temporal\nloss", justify="right")
    if bound is not None:
        table.add_column(f"epsilon for\nloss {bound:g}", justify="right")
    if plan.ward is not None:
        table.add_column("contributors", justify="right")
    if isinstance(plan.request.policy.kind, Choice):
        table.add_column("lead", justify="right")
    for outlook in plan.outlooks:
        table.add_section()
        for row in _rows(outlook, bound, ward=plan.ward is not None):
            table.add_row(*row)
    return table


def _noise(crowds: Sequence[Crowd]) -> Table:
    """Return a table of the noise scale for each number of landmarks, under the policy's own scheme."""
    table = Table()
    table.add_column("landmarks", justify="right")
    for outlook in crowds[0].outlooks:
        if outlook.variant.own:
            table.add_column(f"{escape(outlook.variant.label)},\nat a landmark", justify="right")
            table.add_column("\nat a regular step", justify="right")
    for crowd in crowds:
        own = [outlook for outlook in crowd.outlooks if outlook.variant.own]
        scales = [_figure(side.scale) for outlook in own for side in (outlook.landmark, outlook.regular)]
        table.add_row(str(crowd.landmarks), *scales)
    return table


def _rows(outlook: Outlook, bound: float | None, *, ward: bool) -> Iterator[list[str]]:
    label = escape(outlook.variant.label) + (" *" if outlook.variant.own else "")
    figures = [] if outlook.loss is None else [f"{max(outlook.loss.total):.4g}"]
    if bound is not None:
        figures.append("none" if outlook.epsilon_within is None else f"{outlook.epsilon_within:.4g}")
    for name, side in (("landmark", outlook.landmark), ("regular", outlook.regular)):
        if side.steps:
            number = "-" if side.contributors is None else f"{side.contributors:,}"
            leads = [] if side.lead is None else [f"{side.lead:,}"]
            cells = [f"{side.published / side.steps:.0%}", *(_figure(mean) for _, mean in side.means())]
            yield [label, name, *cells, *figures, *([number] if ward else []), *leads]
            label, figures = "", [""] * len(figures)


def _figure(mean: MeanRange | None) -> str:
    return "-" if mean is None else four_digits(mean.mean)


def _lines(plan: Plan) -> list[str]:
    lines = [
        (
            "* the policy's own scheme. Means over published steps; repeated steps spend nothing, and their error "
            "depends on the data."
        ),
        "The constant baseline is not shown, because it depends on the data.",
    ]
    lines += _price(plan)
    if isinstance(plan.request.policy.kind, Choice):
        lines.append(
            f"lead: an item that leads all others by this many contributors is drawn {WANTED:.0%} of the time."
        )
    if plan.ward is not None:
        lines.append(
            f"contributors: this many are needed for {plan.ward}, {WANTED:.0%} of the time, at each published step; - "
            f"means more than {MOST_CONTRIBUTORS:,}, or no noise budget."
        )
    if plan.note:
        lines.append(f"{plan.note}.")
    if plan.versions > 1:
        lines.append(
            f"These are the figures of one version. With renewals there are at most {plan.versions} versions, which "
            f"together cost epsilon {plan.lifetime_nano / NANO:g}; a lower lifetime_epsilon stops them earlier."
        )
    within = plan.within
    if within is not None:
        lines.append(
            f"Temporal loss stays within {within['bound']:g} under any scheme if every event spends at most "
            f"{within['constant']:.4g} forever, or {within['even']:.4g} over these {plan.request.horizon.events} "
            f"events; the most that each event may spend: {within['first']:.4g} at the first, {within['last']:.4g} at "
            "the last" + ("." if within["between"] is None else f", {within['between']:.4g} between.")
        )
    return lines


def _price(plan: Plan) -> Iterator[str]:
    """Yield the cost of not publishing landmarks; yield nothing if there are no landmarks or no such scheme."""
    leaving = next((each for each in plan.outlooks if each.variant.leaves_out), None)
    if leaving is None or not leaving.landmark.steps:
        return
    window = plan.request.policy.window
    alone = "Every other step" if window == 1 else f"Any {window:,} other consecutive steps together"
    yield (
        f"With {leaving.variant.label} no landmark is published: each one repeats the last release or is withheld, at "
        f"no cost. {alone} may spend all of epsilon."
    )
    beside = [each for each in plan.outlooks if each.variant.scheme["name"] == "balanced" and each is not leaving]
    other = next((each for each in beside if each.variant.own), beside[len(beside) // 2])
    if leaving.loss is None or other.loss is None:
        yield "The price is a larger temporal loss if values resemble their neighbours; --correlation shows it."
        return
    yield (
        f"The price is temporal loss if values resemble their neighbours: {max(leaving.loss.total):.4g} under "
        f"{leaving.variant.label}, {max(other.loss.total):.4g} under {other.variant.label}."
    )


def noise_notes(times: PolicyTimes) -> Iterator[str]:
    """Yield a note if the noise at landmarks is larger than the range of values."""
    if (found := loud(times.policy)) is not None:
        yield f"{times.whose}: scheme: {found.sentence}"
