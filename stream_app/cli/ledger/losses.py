"""The part of ``audit`` that computes temporal loss under a correlation, and compositions of losses."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from stream_app.accounting.composed import (
    Composition,
    CompositionError,
    over_series,
    over_steps,
    over_window,
)
from stream_app.accounting.laws import OVER_SERIES
from stream_app.accounting.statement import Statement
from stream_app.accounting.temporal import CorrelatedLoss, LeftOut, SpentSteps, steps_of
from stream_app.audit.books.guarantee import SeriesLoss
from stream_app.audit.report.curve import Curve
from stream_app.cli import UsageError, mendable
from stream_app.cli.shared.arguments import readable
from stream_app.formats import wire
from stream_app.loss.temporal import Adversary
from stream_app.setup import correlationfile


class AccountingQuestion(NamedTuple):
    """The requested correlations and compositions, which are read and checked before the ledger is read."""

    known: Mapping[str, tuple[Adversary, str]]
    """Adversaries and their files, by the correlation that a policy names; "" applies to all other series."""
    compositions: Sequence[str]
    member_of: Mapping[str, str]
    rate: float
    window: int

    def answer(self, losses: Sequence[SeriesLoss], curves: Sequence[Curve]) -> Statement:
        """Return the losses of the series in `curves`; compositions over series use `losses`."""
        stepwise = self.known or not OVER_SERIES.keys() >= set(self.compositions)
        found = [steps_of(curve) for curve in curves] if stepwise else []
        left_out = [one for one in found if isinstance(one, LeftOut)]
        correlated_losses = []
        for steps in (one for one in found if isinstance(one, SpentSteps)):
            known = self.known.get(steps.correlation or "", self.known.get(""))
            if known is not None:
                correlated_losses.append(CorrelatedLoss.of(steps, *known))
            elif self.known:
                left_out.append(LeftOut(steps.series, "no --correlation was given for it"))
        composed: list[Composition] = []
        for name in self.compositions:
            with mendable(CompositionError, by=f"--compose {name}: "):
                if name in OVER_SERIES:
                    composed.append(over_series(name, losses, self.member_of))
                elif name == "correlated":
                    composed += [over_window(correlated, self.window) for correlated in correlated_losses]
                else:
                    composed += [over_steps(name, steps, self.rate) for steps in found if isinstance(steps, SpentSteps)]
        return Statement(correlated_losses, composed, left_out)


def question_of(arguments: argparse.Namespace) -> AccountingQuestion:
    """Read the files that the arguments name; raise `UsageError` if they are unreadable or inconsistent."""
    compositions = list(dict.fromkeys(arguments.compose))
    known = _known(arguments.correlation)
    if "correlated" in compositions and not known:
        raise UsageError("--compose correlated: add --correlation FILE")
    if ("parallel-members" in compositions) is not (arguments.members is not None):
        raise UsageError("--compose parallel-members and --members FILE: each needs the other")
    if any(name.startswith("discounted") for name in compositions) and arguments.rate is None:
        raise UsageError("--compose discounted-..: add --rate, which says how fast a step's weight falls with its age")
    member_of = {} if arguments.members is None else _member_of(arguments.members)
    return AccountingQuestion(known, compositions, member_of, arguments.rate or 0.0, arguments.window)


def _known(words: Sequence[str]) -> dict[str, tuple[Adversary, str]]:
    known = {}
    for word in words:
        name, _, file = word.rpartition("=")
        with mendable(correlationfile.CorrelationFileError, by="--correlation "):
            known[name] = correlationfile.load(Path(file)).adversary(), Path(file).name
    return known


def _member_of(path: Path) -> dict[str, str]:
    remedy = 'use one JSON object, {"series": "member", ..}'
    try:
        with readable(f"--members {path}"):
            found = wire.load(path.read_bytes())
    except ValueError as error:
        raise UsageError(f"--members {path}: invalid JSON; {remedy}") from error
    if not isinstance(found, dict) or not all(isinstance(member, str) for member in found.values()):
        raise UsageError(f"--members {path}: not an object with text values; {remedy}")
    return found
