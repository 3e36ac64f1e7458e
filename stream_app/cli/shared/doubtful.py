"""``--accept``: what looks wrong with an input as a whole is told, and nothing is done unless it is accepted."""

import argparse
import sys
from collections.abc import Iterable, Sequence

from stream_app.cli import UsageError
from stream_app.replaying.doubts import CHECKS, unaccepted
from stream_app.replaying.run import Answered


def add_accept(parser: argparse.ArgumentParser) -> None:
    """Declare ``--accept``."""
    checks = "; ".join(f"{name}: {fails}".replace("%", "%%") for name, fails in CHECKS.items())
    what = "go on although this check fails, which else ends the command before anything is done; may be repeated"
    parser.add_argument(
        "--accept",
        action="append",
        choices=sorted(CHECKS),
        default=[],
        metavar="CHECK",
        help=f"{what}. {checks}",
    )


def refuse_doubts(answered: Answered, accepted: Sequence[str], name: str, done: str, more: Iterable[str] = ()) -> None:
    """Raise `UsageError` with each check that failed and was not accepted; ``more`` says more of refused rows."""
    found = unaccepted(answered.doubts, accepted)
    if not found:
        return
    lines = [f"{name}: {doubt.found}; if that is meant, add --accept {doubt.check}" for doubt in found]
    if {"order", "refused"} & {doubt.check for doubt in found}:
        lines += more
    raise UsageError("\n".join([*lines, f"{name}: nothing was {done}"]))


def tell_clamped(answered: Answered, command: str) -> None:
    """Tell whoever has the input how many of its values are clamped."""
    # PRIVACY: how many raw values lie outside the range is no released value. It goes to the standard error of whoever
    # runs the command on these values, with a mark; no output, log of a worker, metric or report has it.
    if count := answered.rows.clamped:
        rows = f"{count:,} of {answered.rows.count:,} rows"
        told = f"{rows} have a value outside the range of their policy, which is published as its end, with noise"
        print(f"landmark-stream {command}: PRIVATE, keep it as the raw data: {told}", file=sys.stderr)
