"""``plan FILE``: what a policy will cost under each scheme, before there are any data."""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from stream_app.analysis.error import sensitivity, unit
from stream_app.cli import UsageError
from stream_app.cli.planning.plantable import Plan, print_plan
from stream_app.cli.shared.arguments import add_config, moment_of
from stream_app.cli.shared.configured import settings_of
from stream_app.cli.shared.picturefile import check_picture, write_picture
from stream_app.cli.shared.policyfile import add_outputs, add_policies, policies_in
from stream_app.cli.shared.policytimes import PolicyTimes
from stream_app.cli.shared.together import caps_exceeded, limits_in, together
from stream_app.formats import wire
from stream_app.loss.planning import PlanError
from stream_app.loss.temporal import Adversary
from stream_app.outlook.bound import within_of
from stream_app.outlook.course import CourseError
from stream_app.outlook.horizon import HorizonError, horizon_of
from stream_app.outlook.outlook import Outlook, crowd_events, crowds, events_of, outlooks
from stream_app.outlook.plots import errors_of, losses_of, noise_of, spends_of
from stream_app.outlook.request import PlanRequest
from stream_app.outlook.ward import WANTED
from stream_app.pictures import label_of
from stream_app.privacy.parameters import LARGEST_NUMBER, SMALLEST_RESOLUTION
from stream_app.privacy.policy import Policy
from stream_app.privacy.values import NANO, exact
from stream_app.setup import correlationfile
from stream_app.setup.correlationfile import CorrelationFileError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.epilog = (
        "No data are read. Made-up events go through the worker's own decision, so budgets are what they will be if "
        "events come as planned. An error is the expected absolute error of a measurement, before the filter and the "
        "clamp, which lower it. Schemes that follow the data stand with both their ends. Temporal loss is the largest "
        "of any step, for an adversary who knows the correlation; it is as true as that is.\n"
        "No best constant in hindsight stands beside the errors: which one that is only data tell; evaluate has it."
    )
    add_policies(parser)
    add_config(parser)
    parser.add_argument(
        "--correlation",
        type=Path,
        metavar="FILE",
        help="forecast temporal loss under a correlation, as `correlate` writes it (default: the one of the "
        "configuration that the policy names)",
    )
    parser.add_argument("--bound", type=float, metavar="X", help="find the epsilon that keeps temporal loss within it")
    parser.add_argument(
        "--error",
        type=_wanted,
        metavar="X",
        help="collected data: find how many contributors bring a release within it",
    )
    parser.add_argument("--every", type=int, metavar="MS", help="time from one event to the next (default: the step)")
    parser.add_argument("--steps", type=int, metavar="N", help="how many events (default: up to behind the landmarks)")
    parser.add_argument("--start", metavar="TIMESTAMP", help="when the first event is (default: before the landmarks)")
    add_outputs(parser, "draw errors, and losses or spends over the steps")


def _wanted(text: str) -> Fraction:
    """Return an error above 0 as the decimal that it is."""
    try:
        wanted = float(text)
    except ValueError:
        wanted = 0.0
    if not SMALLEST_RESOLUTION <= wanted <= LARGEST_NUMBER:
        raise argparse.ArgumentTypeError(f"takes a number from 1e-100 to 1e100, found {text!r}")
    return exact(wanted)


def run(arguments: argparse.Namespace) -> int:
    """Plan each policy of the file; raises `UsageError` for what cannot be planned."""
    documents = policies_in(arguments.file)
    limits = limits_in(arguments.config)
    if exceeded := list(caps_exceeded(documents, limits)):
        raise UsageError("\n".join(map(str, exceeded)))
    found = [document.times for document in documents]
    if arguments.picture is not None and len(found) != 1:
        raise UsageError(f"--picture: shows one policy, found {len(found)} in the file; plan them one by one")
    if arguments.error is not None and all(times.policy.collect is None for times in found):
        raise UsageError("--error: is of data that contributors send (collect), and no policy of the file collects")
    check_picture(arguments.picture)
    for times in found:
        plan = _plan(arguments, times)
        if arguments.json:
            print(wire.dump(_document(plan)).decode())
        else:
            print_plan(plan)
        if arguments.picture is not None:
            _draw(arguments.picture, plan)
    for cost in together([(times.series, times.policy) for times in found], limits):
        print(wire.dump(cost.document()).decode() if arguments.json else cost.sentence)
    return 0


def _plan(arguments: argparse.Namespace, times: PolicyTimes) -> Plan:
    policy = times.policy
    adversary, note = _adversary(arguments, policy)
    if arguments.bound is not None and adversary is None:
        raise UsageError(f"--bound: is one of temporal loss; name a correlation (--correlation). {note}".strip())
    start_ms = None if arguments.start is None else moment_of("--start", arguments.start)
    try:
        horizon = horizon_of(policy, every_ms=arguments.every, events=arguments.steps, start_ms=start_ms)
        request = PlanRequest(policy, horizon, adversary, arguments.bound, arguments.error)
        within = within_of(request)
        with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True) as bars:
            bar = bars.add_task("plan", total=events_of(request) + crowd_events(policy))
            found = list(outlooks(request, lambda: bars.advance(bar)))
            crowded = list(crowds(policy, lambda: bars.advance(bar)))
    except (HorizonError, CourseError, PlanError) as error:
        raise UsageError(str(error)) from None
    return Plan(times, request, found, crowded, within, times.promise(limits_in(arguments.config)), note)


def _adversary(arguments: argparse.Namespace, policy: Policy) -> tuple[Adversary | None, str]:
    """Return the adversary who knows the correlation that is named, or why there is none."""
    try:
        adversary, note = correlationfile.adversary_of(
            arguments.correlation, policy.correlation, lambda: settings_of(arguments).correlations
        )
    except CorrelationFileError as error:
        raise UsageError(str(error)) from None
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
        "error_unit": unit(policy.kind),
        "sensitivity": sensitivity(policy.kind),
        "ward": _ward(plan),
        "within": plan.within,
        "note": plan.note or None,
        "times": plan.times.document(),
        "promise": plan.promise,
        "warnings": list(plan.times.warnings()),
        "schemes": [dict(_members(plan, outlook)) for outlook in plan.outlooks],
        "landmarks_against_noise": [
            {"landmarks": crowd.landmarks, "schemes": [_noise(outlook) for outlook in crowd.outlooks]}
            for crowd in plan.crowds
        ],
    }


def _ward(plan: Plan) -> dict[str, Any] | None:
    """Return what the numbers of contributors are for; None: none are asked for, or nobody contributes."""
    words, wanted = plan.ward, plan.request.error
    return None if words is None or wanted is None else {"error": float(wanted), "probability": WANTED, "what": words}


def _noise(outlook: Outlook) -> dict[str, Any]:
    """Return the figures of landmarks and of regular steps: means over those that are published."""
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
    draws = [(f"{whose}\nExpected error of a measurement, {unit(kind)}", errors_of(found, kind))]
    if plan.request.adversary is not None:
        draws.append(("Temporal loss of each event", losses_of(found, horizon)))
    draws.append(("Spent at each event", spends_of(found, horizon)))
    if plan.crowds:
        draws.append(
            ("Landmarks against noise: full at a landmark, hollow at a regular step", noise_of(plan.crowds, kind))
        )
    write_picture(path, draws)
