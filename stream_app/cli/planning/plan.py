"""``plan FILE``: predict the cost of a policy under each scheme, before any data exist."""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, get_args

from rich.console import Console
from rich.progress import Progress

from stream_app.cli import UsageError, mendable
from stream_app.cli.planning.plantable import Plan, print_plan
from stream_app.cli.planning.unitplan import Data, add_data, data_of, planned, print_units
from stream_app.cli.shared.arguments import add_config, check_picture, moment_of, number, write_picture
from stream_app.cli.shared.configured import settings_of
from stream_app.cli.shared.policyfile import add_outputs, add_policies, policies_in
from stream_app.cli.shared.policytimes import PolicyTimes
from stream_app.cli.shared.terminal import say
from stream_app.cli.shared.together import caps_exceeded, limits_in, together
from stream_app.formats import wire
from stream_app.loss.planning import PlanError
from stream_app.loss.temporal import Adversary
from stream_app.outlook.bound import within_of
from stream_app.outlook.course import CourseError, HorizonError, horizon_of
from stream_app.outlook.outlook import Outlook, crowd_events, crowds, events_of, outlooks
from stream_app.outlook.plots import errors_by_unit, errors_of, losses_of, noise_of, spends_of, title
from stream_app.outlook.request import PlanRequest
from stream_app.outlook.units.table import Planned
from stream_app.outlook.ward import WANTED
from stream_app.pictures import label_of
from stream_app.privacy.kinds.form import LARGEST_NUMBER, SMALLEST_RESOLUTION
from stream_app.privacy.policy import Policy
from stream_app.privacy.values import NANO, exact
from stream_app.setup import correlationfile
from stream_app.setup.correlationfile import CorrelationFileError
from stream_app.words.odds import in_odds, odds_document
from stream_app.words.promise import wrapped

ERROR = number("expected a number from 1e-100 to 1e100, found {}", SMALLEST_RESOLUTION, LARGEST_NUMBER)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = (
        "No data are read. Synthetic events go through the worker's own code, so budgets are exact if events arrive "
        "as planned. An error is the expected absolute error of a noisy value, before the filter and the clamp, which "
        "lower it. Schemes that depend on the data are listed with both extremes. The temporal loss is the largest of "
        "any step, for an adversary who knows the correlation; it is only as accurate as the correlation.\nThe "
        "constant baseline is not shown, because it depends on data.\nFor a policy whose steps hold units, the table "
        "shows the error of the statistic by unit, window and span. With --data it also has the constant baseline, "
        "and a warning if a unit is shorter than the time over which values stay similar."
    )
    add_policies(parser)
    add_config(parser)
    correlation_help = (
        "predict temporal loss under a correlation in a file of `correlate` (default: the correlation that the policy "
        "names in the configuration)"
    )
    parser.add_argument("--correlation", type=Path, metavar="FILE", help=correlation_help)
    parser.add_argument("--bound", type=float, metavar="X", help="find the epsilon that keeps temporal loss within X")
    statistic_help = (
        "for single-number policies, in which each number is a unit: the statistic to plan for (default: mean)"
    )
    parser.add_argument("--statistic", choices=get_args(Planned), help=statistic_help)
    step_help = (
        "statistics of units: the span of --error: day, week, 30 days or a length such as 12h (default: the policy's "
        "step)"
    )
    parser.add_argument("--step", metavar="SPAN", help=step_help)
    error_help = (
        "statistics of units: find the epsilon, or the unit, with this mean error; collected data: find the number of "
        "contributors for a release within this error"
    )
    parser.add_argument("--error", type=ERROR, metavar="X", help=error_help)
    parser.add_argument("--every", type=int, metavar="MS", help="time between two events (default: the step)")
    parser.add_argument("--steps", type=int, metavar="N", help="number of events (default: until after the landmarks)")
    parser.add_argument("--start", metavar="TIMESTAMP", help="time of the first event (default: before the landmarks)")
    add_data(parser)
    add_outputs(parser, "draw the errors, and the losses or the epsilon spent over the steps")


def run(arguments: argparse.Namespace) -> int:
    """Plan each policy in the file; raise `UsageError` for policies that cannot be planned."""
    documents = policies_in(arguments.file)
    limits = limits_in(arguments.config)
    if exceeded := list(caps_exceeded(documents, limits)):
        raise UsageError("\n".join(map(str, exceeded)))
    found = [document.times for document in documents]
    if arguments.picture is not None and len(found) != 1:
        raise UsageError(f"--picture: draws one policy, but the file has {len(found)}; plan each policy separately")
    if arguments.step is not None and arguments.error is None:
        raise UsageError("--step: needs a target error; add --error")
    plain = all(times.policy.collect is None and times.policy.units is None for times in found)
    of_units = any(given is not None for given in (arguments.statistic, arguments.step))
    if arguments.error is not None and not of_units and plain:
        raise UsageError(
            "--error: only for a statistic of units or collected data (collect), but no policy in the file has "
            "either; add --statistic mean --step day for a daily mean"
        )
    check_picture(arguments.picture)
    data = data_of(arguments)
    for times in found:
        if times.policy.units is not None or of_units or data is not None:
            _units(arguments, times, data)
        else:
            _schemes(arguments, times)
    for cost in together([(times.series, times.policy) for times in found], limits):
        print(wire.dump(cost.document()).decode() if arguments.json else cost.sentence)
    return 0


def _schemes(arguments: argparse.Namespace, times: PolicyTimes) -> None:
    plan = _plan(arguments, times)
    if arguments.json:
        print(wire.dump(_document(plan)).decode())
    else:
        print_plan(plan)
    if arguments.picture is not None:
        _draw(arguments.picture, plan)


def _units(arguments: argparse.Namespace, times: PolicyTimes, data: Data | None) -> None:
    given = [
        name for name in ("correlation", "bound", "every", "steps", "start") if getattr(arguments, name) is not None
    ]
    if given:
        raise UsageError(f"--{given[0]}: only for single events, not for statistics of units; omit it")
    error = None if arguments.error is None else float(arguments.error)
    plan = planned(times, data, arguments.step, error, arguments.statistic)
    promise = times.promise(limits_in(arguments.config))
    if arguments.json:
        words = {"series": times.series, "times": times.document(), "promise": promise}
        words["odds"] = odds_document(times.policy.epsilon_nano)
        print(wire.dump(words | plan.document()).decode())
    else:
        say(times.sentence)
        print(wrapped(promise))
        print(wrapped(in_odds(times.policy.epsilon_nano)))
        print_units(plan)
    if arguments.picture is not None:
        whose = f"{label_of(times.series)}, epsilon {times.policy.epsilon_nano / NANO:g}"
        write_picture(arguments.picture, [(f"{whose}\n{title(plan)}", partial(errors_by_unit, plan))])


def _plan(arguments: argparse.Namespace, times: PolicyTimes) -> Plan:
    policy = times.policy
    adversary, note = _adversary(arguments, policy)
    if arguments.bound is not None and adversary is None:
        raise UsageError(
            f"--bound: limits temporal loss, so it needs a correlation; specify one with --correlation. {note}".strip()
        )
    start_ms = None if arguments.start is None else moment_of("--start", arguments.start)
    with mendable(HorizonError, CourseError, PlanError):
        horizon = horizon_of(policy, every_ms=arguments.every, events=arguments.steps, start_ms=start_ms)
        wanted = None if arguments.error is None else exact(arguments.error)
        request = PlanRequest(policy, horizon, adversary, arguments.bound, wanted)
        within = within_of(request)
        with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True) as bars:
            bar = bars.add_task("plan", total=events_of(request) + crowd_events(policy))
            found = list(outlooks(request, lambda: bars.advance(bar)))
            crowded = list(crowds(policy, lambda: bars.advance(bar)))
    return Plan(times, request, found, crowded, within, times.promise(limits_in(arguments.config)), note)


def _adversary(arguments: argparse.Namespace, policy: Policy) -> tuple[Adversary | None, str]:
    with mendable(CorrelationFileError):
        adversary, note = correlationfile.adversary_of(
            arguments.correlation, policy.correlation, lambda: settings_of(arguments).correlations
        )
    return adversary, f"{note} (--config)" if note else ""


def _document(plan: Plan) -> dict[str, Any]:
    policy, horizon = plan.request.policy, plan.request.horizon
    return {
        "series": plan.series,
        "epsilon": policy.epsilon_nano / NANO,
        "renewals": {"versions": plan.versions, "epsilon": plan.lifetime_nano / NANO} if policy.renew else None,
        "step_ms": policy.step_ms,
        **asdict(horizon),
        "landmarks": plan.landmarks,
        "error_unit": policy.kind.error_unit,
        "sensitivity": policy.kind.largest_change,
        "ward": _ward(plan),
        "within": plan.within,
        "note": plan.note or None,
        "times": plan.times.document(),
        "promise": plan.promise,
        "odds": odds_document(policy.epsilon_nano),
        "warnings": list(plan.notes()),
        "schemes": [dict(_members(plan, outlook)) for outlook in plan.outlooks],
        "landmarks_against_noise": [
            {"landmarks": crowd.landmarks, "schemes": [_noise(outlook) for outlook in crowd.outlooks]}
            for crowd in plan.crowds
        ],
    }


def _ward(plan: Plan) -> dict[str, Any] | None:
    """Return the purpose of the contributor counts; None if they are not requested or there are no contributors."""
    words, wanted = plan.ward, plan.request.error
    return None if words is None or wanted is None else {"error": float(wanted), "probability": WANTED, "what": words}


def _noise(outlook: Outlook) -> dict[str, Any]:
    """Return the figures for landmarks and for regular steps, averaged over the published steps."""
    sides = (("landmark", outlook.landmark), ("regular", outlook.regular))
    figures = {name: {part: mean and mean.mean for part, mean in side.means()} for name, side in sides}
    return {"label": outlook.variant.label, "own": outlook.variant.own, **figures}


def _members(plan: Plan, outlook: Outlook) -> Iterator[tuple[str, Any]]:
    variant = outlook.variant
    yield from (("label", variant.label), ("scheme", variant.scheme), ("assumes", variant.end or None))
    yield "own", variant.own
    for name, side in (("landmark", outlook.landmark), ("regular", outlook.regular)):
        means = {part: mean and mean._asdict() for part, mean in side.means()}
        ward = {} if plan.ward is None else {"contributors": side.contributors}
        ward |= {} if side.lead is None else {"lead": side.lead}
        yield name, {"steps": side.steps, "published": side.published, **means, **ward}
    yield "spent", outlook.spent
    loss = outlook.loss
    parts = ("backward", "forward", "total")
    yield "temporal_loss", None if loss is None else {part: max(getattr(loss, part)) for part in parts}
    yield "epsilon_within", outlook.epsilon_within


def _draw(path: Path, plan: Plan) -> None:
    kind, found, horizon = plan.request.policy.kind, plan.outlooks, plan.request.horizon
    whose = f"{label_of(plan.series)}, epsilon {plan.request.policy.epsilon_nano / NANO:g} (* the policy's own scheme)"
    draws = [(f"{whose}\nExpected error of a noisy value, {kind.error_unit}", partial(errors_of, found, kind))]
    if plan.request.adversary is not None:
        draws.append(("Temporal loss of each event", partial(losses_of, found, horizon)))
    draws.append(("Spent at each event", partial(spends_of, found, horizon)))
    if plan.crowds:
        full = "Landmarks and noise: filled at a landmark, hollow at a regular step"
        draws.append((full, partial(noise_of, plan.crowds, kind)))
    write_picture(path, draws)
