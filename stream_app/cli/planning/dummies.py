"""``dummies FILE``: show the dummy landmarks that each method would add, to help choose a method."""

import argparse
import sys
from collections.abc import Mapping
from dataclasses import replace
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, assert_never

from rich.console import Console
from rich.table import Table

from stream_app.calendar.policy import in_integers
from stream_app.cli import UsageError, mendable
from stream_app.cli.shared.arguments import (
    FILE_OR_INPUT,
    add_config,
    add_picture,
    check_picture,
    readable,
    write_picture,
)
from stream_app.cli.shared.configured import settings_of
from stream_app.formats import wire
from stream_app.pictures import DAY_MS, LANDMARK_COLOUR, REGULAR_COLOUR, legend_below, time_axis
from stream_app.privacy.dummies.draw import OptionDraw, choice_of, drawn_landmarks, joined_by, named_by_series
from stream_app.privacy.dummies.request import DrawRequest, Dummies, PaddingRequest
from stream_app.privacy.landmarks import Grid, LandmarkSet
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.noise.mechanisms import probabilities
from stream_app.privacy.policy import PolicyError, policy_of
from stream_app.privacy.values import NANO
from stream_app.setup import keyfile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PLACES: Final = ("step", "landmarks", "zone")
REQUEST: Final = ("method", "utility", "start", "end", "probability")
MEMBERS: Final = (*PLACES, *REQUEST, "epsilon")
ANY_VALUE: Final[dict[str, object]] = {
    "scheme": {"name": "uniform"},
    "value": {"kind": "number", "lower": 0, "upper": 1, "resolution": 1},
}
"""The rest of a policy, which does not affect any draw."""
MOST_LISTED: Final = 2_048
"""The most steps for which JSON lists the options. Each option lists its steps, so output grows quadratically."""
MOST_ROWS: Final = 20
STANDARD_INPUT: Final = Path("-")


class DummiesRequest(NamedTuple):
    """The content of the input: the requested dummies, and the length of a step in milliseconds."""

    dummies: Dummies
    step_ms: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = (
        'FILE contains {"start": MS, "end": MS, "step": MS, "landmarks": [MS, [MS, MS], ..], "method": '
        '"optimal", "heuristic" or "partitioned", "utility": "proximity" or "count", "epsilon": X}. '
        "Here epsilon is the cost of the draw, which a policy sets as a `fraction` of its own epsilon. Method padding "
        'uses "probability" instead of "utility" and "epsilon".\nTimes may be written as in policy files, with '
        '"zone" for times without a zone.\nEach run uses a new key, so it draws another set. With --key and '
        "--series it shows the set that a worker with that key would draw for the series, if its share of epsilon is "
        "the same.\nThe output and the picture show the true landmarks, so keep them private. The options depend on "
        "the landmarks and contain all of them: dummies obscure the landmarks, and give no differential privacy for "
        "the landmarks' positions."
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="a JSON file; - for standard input")
    parser.add_argument("--key", type=Path, metavar="FILE", help="draw with this noise key, instead of a new one")
    parser.add_argument("--series", default="", metavar="ID", help="draw for this series (with --key)")
    add_picture(parser, "draw the joined set beside the true landmarks")
    parser.add_argument("--json", action="store_true", help="print one JSON object with every option")
    add_config(parser)


def run(arguments: argparse.Namespace) -> int:
    """Draw and print the dummies; raise `UsageError` if the input does not allow a draw."""
    check_picture(arguments.picture)
    asked = _asked(arguments.file)
    steps = asked.dummies.end - asked.dummies.first
    if arguments.json and isinstance(asked.dummies, DrawRequest) and steps > MOST_LISTED:
        raise UsageError(
            f"--json lists every option with all its steps, for ranges of at most {MOST_LISTED} steps, but this range "
            f"has {steps} steps; omit --json, or use a shorter range"
        )
    keys, name = _keys(arguments), named_by_series(arguments.series)
    choice: OptionDraw | None = None
    joined: LandmarkSet | None
    match asked.dummies:
        case DrawRequest():
            choice = choice_of(keys, name, Grid(asked.step_ms), asked.dummies)
            joined = None if choice is None else joined_by(asked.dummies, choice.joined)
        case PaddingRequest():
            joined = drawn_landmarks(keys, name, Grid(asked.step_ms), asked.dummies)
        case _:
            assert_never(asked.dummies)
    if joined is None:
        raise UsageError(f"--key {arguments.key}: the key for the start of the range is erased; choose a later range")
    if arguments.json:
        print(wire.dump(_document(asked, choice, joined)).decode())
    else:
        _print(asked, choice, joined)
    if arguments.picture is not None:
        write_picture(arguments.picture, [(_title(asked.dummies), lambda axes: _draw(axes, asked, joined))])
    return 0


def _keys(arguments: argparse.Namespace) -> KeyRing:
    if arguments.key is None:
        if arguments.series:
            raise UsageError("--series: add --key, because a draw with a new key belongs to no series")
        return KeyRing("", 0, keyfile.fresh_secret())
    with mendable(keyfile.KeyFileError, by="--key: "):
        return keyfile.load(arguments.key, settings_of(arguments).key_epoch_ms)


def _asked(file: Path) -> DummiesRequest:
    """Return the request in the input, parsed as in a policy; raise a `UsageError` that lists every fault."""
    found = _read(file)
    unknown = [name for name in found if name not in MEMBERS]
    if unknown:
        raise UsageError(f"{file}: unknown member {unknown[0]!r}; known members are {', '.join(MEMBERS)}")
    padding = found.get("method") == "padding"
    if padding and "epsilon" in found:
        raise UsageError(f'{file}: epsilon: padding has no cost; omit epsilon, and use only "probability"')
    members = {
        "epsilon": 1.0 if padding else found.get("epsilon"),
        "protection": {"level": "landmark", **{name: found[name] for name in PLACES if name in found}},
        "dummies": {name: found[name] for name in REQUEST if name in found},
    }
    written, wrongs = in_integers(members, lambda name: (file.parent / name).read_bytes())
    faults = [f"{file}: {wrong.member}: {wrong.message}" for wrong in wrongs]
    if faults:
        raise UsageError("\n".join(faults))
    try:
        policy = policy_of({**written, **ANY_VALUE}, 1)
    except PolicyError as error:
        raise UsageError("\n".join(f"{file}: {fault.member}: {fault.message}" for fault in error.faults)) from None
    dummies = policy.dummies
    assert dummies is not None, "the policy was made with dummies"
    if isinstance(dummies, DrawRequest):
        dummies = replace(dummies, charge_nano=policy.epsilon_nano)
    return DummiesRequest(dummies, policy.step_ms)


def _read(file: Path) -> Mapping[str, Any]:
    with readable(file, FILE_OR_INPUT):
        content = sys.stdin.buffer.read() if file == STANDARD_INPUT else file.read_bytes()
    try:
        found = wire.load(content)
    except ValueError:
        raise UsageError(f'{file}: not JSON; expected {{"start": .., "end": .., "landmarks": [..], ..}}') from None
    if not isinstance(found, dict):
        raise UsageError(f'{file}: not an object; expected {{"start": .., "end": .., "landmarks": [..], ..}}')
    return found


def _document(asked: DummiesRequest, choice: OptionDraw | None, joined: LandmarkSet) -> dict[str, object]:
    landmarks = [step * asked.step_ms for start, end in joined.intervals for step in range(start, end)]
    if choice is None or not isinstance(asked.dummies, DrawRequest):
        return {"options": [], "probabilities": [], "chosen": None, "landmarks": landmarks}
    first, order = asked.dummies.first, choice.options.order
    options: list[dict[str, object]] = []
    for number, score in enumerate(choice.scores, 1):
        held: dict[str, object] = {"dummies": sorted((first + at) * asked.step_ms for at in order[:number])}
        if choice.options.own is not None:
            held = {"histogram": choice.options.own.grown(order[:number]).counts}
        options.append({**held, "score": float(score)})
    chances = probabilities(choice.scores, asked.dummies.charge_nano)
    return {"options": options, "probabilities": chances, "chosen": choice.chosen, "landmarks": landmarks}


def _print(asked: DummiesRequest, choice: OptionDraw | None, joined: LandmarkSet) -> None:
    dummies = asked.dummies
    print(f"range: {dummies.end - dummies.first} steps of {asked.step_ms} ms; landmarks: {len(dummies.landmarks)}")
    match dummies:
        case DrawRequest():
            assert choice is not None, "an option is drawn wherever the key is available"
            chances = probabilities(choice.scores, dummies.charge_nano)
            rows = {round(nth * (len(chances) - 1) / (MOST_ROWS - 1)) for nth in range(MOST_ROWS)} | {choice.chosen}
            table = Table("dummies", f"score ({dummies.utility})", "probability", "")
            for row in sorted(rows):
                number = row + 1 if choice.options.order else 0
                drawn = "drawn" if row == choice.chosen else ""
                table.add_row(str(number), f"{float(choice.scores[row]):.6g}", f"{chances[row]:.6g}", drawn)
            Console().print(table)
            print(
                f"{len(chances)} options by {dummies.method}; the draw costs epsilon {dummies.charge_nano / NANO:.9g}"
            )
        case PaddingRequest():
            chance = dummies.numerator / dummies.denominator
            loss = log(dummies.denominator / dummies.numerator)
            print(
                f"every step joins with probability {chance:.6g}: a landmark has a one-sided loss of ln(1/p) = "
                f"{loss:.6g}"
            )
        case _:
            assert_never(dummies)
    true = len(dummies.landmarks)
    print(f"joined set: {len(joined)} steps, {true} of them true landmarks, in {len(joined.intervals)} intervals")
    print(f"under scheme uniform, a landmark's share of epsilon falls from 1/{true + 1} to 1/{len(joined) + 1}")


def _title(dummies: Dummies) -> str:
    match dummies:
        case DrawRequest():
            how = f"{dummies.method} by {dummies.utility}, epsilon {dummies.charge_nano / NANO:.9g}"
        case PaddingRequest():
            how = f"padding with probability {dummies.numerator / dummies.denominator:.6g}"
        case _:
            assert_never(dummies)
    return f"Dummies among the landmarks: {how}; private, because the true landmarks are shown"


def _draw(axes: "Axes", asked: DummiesRequest, joined: LandmarkSet) -> None:
    """Plot the joined set, which others see, with the true landmarks above it."""
    for label, found, colour, height in (
        ("joined set, as the ledger shows it", joined, REGULAR_COLOUR, (0.0, 0.9)),
        ("true landmarks", asked.dummies.landmarks, LANDMARK_COLOUR, (1.1, 0.9)),
    ):
        width = asked.step_ms / DAY_MS
        spans = [(start * width, (end - start) * width) for start, end in found.intervals]
        axes.broken_barh(spans, height, facecolor=colour, label=f"{label}: {len(found)} steps")
    axes.set_xlim(asked.dummies.first * asked.step_ms / DAY_MS, asked.dummies.end * asked.step_ms / DAY_MS)
    axes.set_yticks([0.45, 1.55], labels=["joined", "true"])
    axes.set_ylim(-0.1, 2.1)
    time_axis(axes)
    legend_below(axes)
