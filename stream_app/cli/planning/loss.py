"""``loss``: compute the temporal privacy loss of given matrices and budgets at each timestamp."""

import argparse
import sys
from collections.abc import Mapping
from math import fsum
from pathlib import Path

from stream_app.cli import UsageError, mendable
from stream_app.cli.shared.arguments import FILE_OR_INPUT, readable
from stream_app.formats import wire
from stream_app.loss.correlation import CorrelationError, correlation_of
from stream_app.loss.landmark import LandmarkError, landmark_losses
from stream_app.loss.planning import supremum
from stream_app.loss.temporal import Adversary, EpsilonError, TemporalLoss, checked
from stream_app.plain import NOT_UTF8
from stream_app.setup import correlationfile

MEMBERS = ("backward", "forward", "epsilons", "landmarks")
MOST_EPSILON = 1e9  # above any budget, but small enough that every sum is finite
STANDARD_INPUT = Path("-")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = (
        'FILE contains {"backward": MATRIX, "forward": MATRIX, "epsilons": [..], "landmarks": [indices, from '
        '0]}. Landmarks are optional.\nA matrix is a list of rows, or {"states": n, "entries": [[row, column, '
        "probability], ..]}, or null for an adversary who knows nothing about that direction. Given that the "
        "state is i, row i is the distribution of the previous state in backward, and of the next state in "
        "forward.\nA supremum is the limit of the loss if the largest epsilon were spent at every timestamp; null: "
        "the loss would grow without limit.\nThe landmark figures are estimates. The sum of all epsilons is a bound, "
        "whatever the correlation within the series."
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="a JSON file; - for standard input")
    parser.add_argument("--json", action="store_true", help="print one JSON object with the losses of every timestamp")


def run(arguments: argparse.Namespace) -> int:
    """Print the losses; raise `UsageError` for input without matrices or budgets."""
    adversary, epsilons, landmarks = _question(arguments.file)
    with mendable(EpsilonError, LandmarkError, by=f"{arguments.file}: "):
        checked(epsilons, MOST_EPSILON)
        loss = adversary.temporal_loss(epsilons)
        landmark = None if landmarks is None else landmark_losses(adversary, epsilons, landmarks)
    largest = max(epsilons, default=0.0)
    suprema = {"backward": supremum(adversary.backward, largest), "forward": supremum(adversary.forward, largest)}
    if arguments.json:
        losses = {"backward": loss.backward, "forward": loss.forward, "total": loss.total, "landmark": landmark}
        print(wire.dump({**losses, "supremum": suprema}).decode())
    else:
        print("\n".join(_lines(epsilons, loss, landmark, suprema)))
    return 0


def _question(file: Path) -> tuple[Adversary, list[float], list[int] | None]:
    """Return the adversary, the epsilon at each timestamp, and the landmarks (None if not given)."""
    try:
        with readable(file, FILE_OR_INPUT):
            text = sys.stdin.read() if file == STANDARD_INPUT else file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{file}: {NOT_UTF8}") from None
    with mendable(ValueError, by=f"{file}: "):
        document = correlationfile.decoded(text)
    if not isinstance(document, Mapping):
        raise UsageError(f'{file}: not an object; expected {{"backward": .., "forward": .., "epsilons": [..]}}')
    unknown = [name for name in document if name not in MEMBERS]
    if unknown:
        raise UsageError(f"{file}: unknown member {unknown[0]!r}; known members are {', '.join(MEMBERS)}")
    with mendable(CorrelationError, by=f"{file}: "):
        correlation = correlation_of({"backward": None, "forward": None, **document})
    epsilons, landmarks = document.get("epsilons"), document.get("landmarks")
    if not isinstance(epsilons, list) or not all(type(epsilon) in (float, int) for epsilon in epsilons):
        raise UsageError(f"{file}: epsilons: expected a list of numbers, one per timestamp, with 0 if nothing is spent")
    if landmarks is not None and (not isinstance(landmarks, list) or not all(type(at) is int for at in landmarks)):
        raise UsageError(f"{file}: landmarks: expected a list of indices into epsilons, from 0")
    return correlation.adversary(), [float(epsilon) for epsilon in epsilons], landmarks


def _lines(
    epsilons: list[float], loss: TemporalLoss, landmark: tuple[float, ...] | None, suprema: Mapping[str, float | None]
) -> list[str]:
    lines = [
        (
            f"{len(epsilons)} timestamps, {fsum(epsilons):.6g} spent in total: a bound under any correlation among the "
            "timestamps"
        )
    ]
    columns = {"backward": loss.backward, "forward": loss.forward, "temporal": loss.total}
    if landmark is not None:
        columns["landmark (estimate)"] = landmark
    for name, losses in columns.items():
        if losses:
            worst = max(range(len(losses)), key=losses.__getitem__)
            lines.append(f"{name} loss: at most {losses[worst]:.6g}, at timestamp {worst}")
    for direction, found in suprema.items():
        bound = "grows without bound" if found is None else f"stays under {found:.6g}"
        lines.append(f"{direction} loss if {max(epsilons, default=0.0):.6g} is spent at every timestamp: {bound}")
    return lines
