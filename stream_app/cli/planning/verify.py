"""``verify FILE``: find a lower bound on what releases reveal, from real decisions on neighbouring histories."""

import argparse
import sys
import time
from contextlib import closing
from hashlib import blake2b
from typing import Any, NamedTuple

from stream_app.calendar.words import duration_in_words
from stream_app.cli import UsageError, mendable
from stream_app.cli.shared.arguments import ENDED, check_picture, natural, positive, write_picture
from stream_app.cli.shared.policyfile import add_outputs, add_policies, parameters_of, policies_in
from stream_app.cli.shared.terminal import progress, say
from stream_app.formats import wire
from stream_app.pictures import label_of
from stream_app.privacy.kinds import ByBins, UnitStatistic
from stream_app.privacy.noise.key import SECRET_BYTES
from stream_app.privacy.policy import Policy
from stream_app.privacy.protection import LandmarkLevel
from stream_app.privacy.units.units import Units
from stream_app.privacy.values import NANO
from stream_app.processes import ProcessEndedError
from stream_app.setup import keyfile
from stream_app.verify.experiment import beside, experiment, gathered, here
from stream_app.verify.trial import UnusableError
from stream_app.verify.units import MOST_DIFFERING
from stream_app.verify.verdict import Judgement, MeasuredBounds, PairResult, Power, Verdict, plots_of, verdict
from stream_app.words.amount import quoted
from stream_app.words.promise import wrapped

RUNS = 20_000
JOBS = 2
SAID = {
    Judgement.HOLDS: (
        "HOLDS: no lower bound exceeds the declared loss, and a worker that spends twice as much was detected"
    ),
    Judgement.BROKEN: "BROKEN: the releases reveal more than declared",
    Judgement.NO_POWER: (
        "NO POWER: a worker that spends twice as much was not detected either; use more --runs, or a shorter policy "
        "with a larger epsilon"
    ),
}
ABOVE = {
    Judgement.HOLDS: "HOLDS at confidence 1 - 10^-6, but a lower bound exceeds the declared loss at 95 %",
    Judgement.NO_POWER: (
        "NO POWER, but a lower bound exceeds the declared loss at 95 %: a worker that spends twice as much was not "
        "detected either, so this may be a fault; use more --runs"
    ),
}
"""Printed instead of SAID if a bound exceeds the declared loss, but with less confidence than BROKEN requires."""


class PolicyVerdict(NamedTuple):
    """A policy in the file, its verdict, and the duration of its check in seconds."""

    series: str
    policy: Policy
    verdict: Verdict
    seconds: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = (
        "Synthetic histories go through the worker's own code under fresh random keys, in pairs that are neighbours "
        "under the policy's level. Half of the runs choose the event that distinguishes a pair best; the other half "
        "give the bound, at 95 % confidence for all pairs of a policy together. BROKEN needs confidence 1 - 10^-6. "
        "The control is the same policy with twice its epsilon: if the test does not detect it, the result is NO "
        "POWER and says nothing about the policy. A lower bound below the declared loss does not prove that the "
        "releases reveal no more. Your own topics, keys and budgets are not touched."
    )
    add_policies(parser)
    parser.add_argument("--runs", type=_count, default=RUNS, help="runs of each history (default: %(default)s)")
    seconds_help = "stop after this time, and use the runs completed so far (default: no limit)"
    parser.add_argument("--seconds", type=_count, help=seconds_help)
    seed_help = "derive all keys from this seed, for a run that can be repeated (default: random)"
    parser.add_argument("--seed", type=natural, help=seed_help)
    parser.add_argument("--jobs", type=_count, default=JOBS, help="number of processes (default: %(default)s)")
    add_outputs(parser, "draw the declared losses, the bounds and the controls")


def run(arguments: argparse.Namespace) -> int:
    """Verify each policy and return the worst exit code; raise `UsageError` if a policy cannot be verified."""
    records = [document.content for document in policies_in(arguments.file)]
    check_picture(arguments.picture)
    verified = []
    for record in records:
        found = _verified(arguments, record["series"], parameters_of(record))
        verified.append(found)
        if arguments.json:
            print(wire.dump(_document(found, arguments.seed)).decode(), flush=True)
        else:
            _print(found)
    if arguments.picture is not None:
        labels = [(label_of(found.series) if verified[1:] else _title(found), found.verdict) for found in verified]
        write_picture(arguments.picture, list(plots_of(labels)))
    judgements = {found.verdict.judgement for found in verified}
    worst = (each for each in (Judgement.BROKEN, Judgement.NO_POWER) if each in judgements)
    return next(worst, Judgement.HOLDS).value


def _verified(arguments: argparse.Namespace, series: str, parameters: dict[str, Any]) -> PolicyVerdict:
    # PRIVACY: anyone who knows the seed knows its keys. None of them is ever written to a key file, and they only
    # decide synthetic data.
    secret = keyfile.fresh_secret()
    if arguments.seed is not None:
        secret = blake2b(b"%d" % arguments.seed, digest_size=SECRET_BYTES, person=b"landmark-verify0").digest()
    began = time.monotonic()
    with mendable(UnusableError, by=f"{quoted(series)}: "):
        tried = experiment(parameters, secret)
    parts = tried.parts(arguments.runs)
    results = here(tried, parts) if arguments.jobs == 1 else beside(parameters, secret, parts, arguments.jobs)
    with closing(results), progress("verify") as moved:

        def watch(done: int, total: int) -> bool:
            if moved is not None:
                moved(done, total)
            return arguments.seconds is None or time.monotonic() - began < arguments.seconds

        try:
            with mendable(UnusableError, by=f"{quoted(series)}: "):
                seen = gathered(tried, arguments.runs, results, watch)
        except ProcessEndedError:
            raise UsageError(ENDED) from None
    return PolicyVerdict(series, tried.subject.policy, verdict(tried, seen), time.monotonic() - began)


def _title(found: PolicyVerdict) -> str:
    policy = found.policy
    kind = _kind(policy)
    if isinstance(policy.kind, UnitStatistic):
        local = f" by {policy.kind.local.by}" if isinstance(policy.kind, ByBins) else ""
        kind = f"{kind}, {policy.kind.statistic} of units{local}"
    collected = "" if policy.collect is None else ", collected"
    parts = f"{policy.level}, {policy.scheme.name}, {kind}{collected}, epsilon {policy.epsilon_nano / NANO:g}"
    return f"{label_of(found.series)}: {parts}"


def _kind(policy: Policy) -> str:
    """Return the kind of the values, spelled as in policies."""
    kind = policy.kind.item if isinstance(policy.kind, UnitStatistic) else policy.kind
    return type(kind).__name__.lower()


def _looked_at(policy: Policy, units: Units) -> str:
    """Return a description of how the unit histories in a pair differ, and of the loss declared for such pairs."""
    unit, step = (duration_in_words(length_ms) for length_ms in (units.unit_ms, policy.step_ms))
    marked = isinstance(policy.protection, LandmarkLevel) and (len(policy.landmarks) > 0 or not policy.fixed)
    differ = ["one unit"]
    if units.window > 1:
        most = f" (longer windows: {MOST_DIFFERING} units)" if units.window > MOST_DIFFERING else ""
        differ.append(f"{units.window:,} consecutive units{most}, within one step or across two")
    differ += ["landmark units"] * marked
    said = f"Each unit lasts {unit}, and a step of {step} contains {units.per_step:,} of them. "
    said += f"The two histories of a pair differ in {'; in '.join(differ)}."
    if units.window > 1:
        said += " A pair that differs in fewer units than a window has a declared loss of their share of epsilon."
    alone = " A pair that differs only in landmark units has a declared loss of 0: no release may depend on them."
    return said + alone * marked


def _print(found: PolicyVerdict) -> None:
    judgement = found.verdict.judgement
    above = [result for result in found.verdict.results if result.above]
    say(ABOVE[judgement] if above and judgement in ABOVE else SAID[judgement])
    say(f"{_title(found)}; {found.seconds:.0f} s")
    if found.policy.units is not None:
        say(wrapped(_looked_at(found.policy, found.policy.units)))
    rows = [["", "declared", "at least", "control", "runs"]]
    for result in found.verdict.results:
        figures = [f"{figure:.3f}" for figure in (result.declared, result.measured.shown)]
        control = f"{result.control.shown:.3f}" if result.control.runs else "-"
        rows.append([result.pair, *figures, control, f"{result.measured.runs:,}"])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *cells in rows:
        shown = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        print(f"  {name.ljust(widths[0])}  {'  '.join(shown)}")
    for result in found.verdict.results:
        if result.broken:
            least = f"at least {result.measured.certain:.3f} at confidence 1 - 10^-6, declared {result.declared:.3f}"
            say(f"  {result.pair}: {least}; by {result.measured.event}")
    for result in above:
        say(
            f"  {result.pair}: at confidence 95 %, though not at 1 - 10^-6, the bound exceeds the declared loss: "
            f"verify again with more --runs and another --seed; by {result.measured.event}"
        )
    if found.verdict.results:
        _print_power(found.verdict.power, len(found.verdict.results))
    if not found.verdict.results:
        say(
            "  no pair of short neighbouring histories exists: the landmarks are too far apart, or the policy has a "
            "single key"
        )
    sys.stdout.flush()


def _print_power(power: Power, pairs: int) -> None:
    """Print the kinds of fault that this number of runs can detect."""
    twice = f"detected on {power.twice} of {pairs} pairs" if power.twice else "not detected"
    say(f"This many runs detect these kinds of fault, in histories of at most {power.events} events:")
    say(f"  a worker that spends twice the budget: {twice}")
    seen = f"detected if its probability is at least {power.excluded:.2g}" if power.excluded else "not detected"
    say(
        "  an outcome that one history excludes and the other does not (a bare value, a last bit that noise leaves "
        f"unchanged, noise that ends too early or has a gap): {seen}"
    )
    say("  Not detected: smaller faults, faults at later events or other values, and anything that no score measures.")


def _document(found: PolicyVerdict, seed: int | None) -> dict[str, Any]:
    policy, power, kind = found.policy, found.verdict.power, found.policy.kind
    statistic = {"statistic": kind.statistic} if isinstance(kind, UnitStatistic) else {}
    if isinstance(kind, ByBins):
        statistic["by"] = kind.local.by
    return {
        "series": found.series,
        "level": policy.level,
        "scheme": policy.scheme.name,
        "kind": _kind(policy),
        **statistic,
        "epsilon": policy.epsilon_nano / NANO,
        "verdict": found.verdict.judgement.name.lower().replace("_", "-"),
        "seed": seed,
        "seconds": round(found.seconds, 3),
        "pairs": [_pair(result) for result in found.verdict.results],
        "finds": {"twice_the_budget": power.twice, "excluded_outcome": power.excluded, "events": power.events},
    }


def _pair(result: PairResult) -> dict[str, Any]:
    return {
        "pair": result.pair,
        "declared": result.declared,
        **_measured(result.measured),
        "broken": result.broken,
        "above": result.above,
        "control": {**_measured(result.control), "found": result.found},
    }


def _measured(measured: MeasuredBounds) -> dict[str, Any]:
    return {"runs": measured.runs, "bound": measured.shown, "certain": measured.certain, "event": measured.event}


def _count(text: str) -> int:
    """Return a whole number above 0; reject other text with the same error as ``--seed``."""
    natural(text)
    return positive(text)
