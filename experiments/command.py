"""Options and main function of the papers' experiments on real data, with tables, JSON and plots."""

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from rich.console import Console

from experiments.dataset import PACKAGED, SHARE_WRONG, DataSet
from experiments.decisions import key_of
from experiments.evaluation import EXPERIMENTS, Evaluation
from experiments.experiment import COMPARED_SHARES, Comparison, Row
from experiments.setting import LANDMARK_SCHEMES, Method
from experiments.store import Store
from experiments.tables import HELD_AGAINST, NOTE, SPAN_NOTE, UNBOUNDED, tables
from stream_app.accounting.starts import OF_STATISTICS
from stream_app.cli import UsageError, mendable
from stream_app.cli.shared.arguments import ENDED, number, positive, whole_number
from stream_app.cli.shared.eventfile import EventFile, add_mapping
from stream_app.cli.shared.terminal import progress
from stream_app.deciding.context import Context, DefaultPolicy, Limits
from stream_app.files import unwritten, whole
from stream_app.formats import wire
from stream_app.formats.records import Observation
from stream_app.pictures import PlotError, prepare
from stream_app.privacy.parameters import LARGEST_EPSILON
from stream_app.privacy.values import NANO
from stream_app.processes import ProcessEndedError
from stream_app.replaying.ranges import strict
from stream_app.setup.configuration import policies_in
from stream_app.setup.settings import InvalidSettingsError

DOCUMENT = "evaluation.json"
STEPS = 1_000
EVERY_STEP = 10**9
SEEDS = 30
PIPE_WIDTH = 10_000  # width of tables in a pipe, in characters: no line is cut or wrapped
UNITS = {"location": "m", "category": SHARE_WRONG, "counts": "items a key", "vector": "of a part's range"}
EPSILON = number(f"{{}} is not a budget; use a number from 1e-9 to {LARGEST_EPSILON:g}", 1e-9, LARGEST_EPSILON)
SHARE = whole_number("is not a share; use a whole number from 0 to 100 (per cent)", 0, 100)

Word = TypeVar("Word")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = (
        "Without FILE, the data come from the package bokeh_sampledata. With FILE, --policies gives the kind of the "
        "values, the step and epsilon; landmarks and schemes come from the experiments.\n"
        "Errors depend on raw values, without any guarantee: keep an evaluation of private data private.\n"
        "An interrupted run continues where it stopped. Trials of other code, data or options run again."
    )
    add_mapping(parser, needed=False)
    parser.add_argument(
        "--policies", type=Path, help="with FILE: default policies as JSON Lines, whose series are globs"
    )
    out_help = "folder for the results (default: %(default)s)"
    parser.add_argument("--out", type=Path, default=Path("evaluation"), help=out_help)
    listed = "; ".join(f"{name}: {text}" for name, text in EXPERIMENTS.items())
    every = list(EXPERIMENTS)
    only_help = f"{listed} (default: all)"
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=EXPERIMENTS, default=every, help=only_help)
    data_help = f"without FILE: {', '.join(PACKAGED)} (default: all)"
    parser.add_argument("--data", nargs="+", metavar="NAME", choices=PACKAGED, default=list(PACKAGED), help=data_help)
    steps_help = f"number of steps to use from the start of each series (default: {STEPS}; for statistics: all)"
    parser.add_argument("--steps", type=positive, help=steps_help)
    parser.add_argument(
        "--seeds", type=positive, default=SEEDS, help="runs of each configuration (default: %(default)s)"
    )
    parser.add_argument("--jobs", type=positive, default=2, help="number of processes (default: %(default)s)")
    compare_help = (
        "compare: error of the first method divided by that of the second; SCHEME[+FILTER] (default: adaptive "
        "balanced+level)"
    )
    pair = ("adaptive", "balanced+level")
    parser.add_argument("--compare", nargs=2, type=_method, metavar="METHOD", default=pair, help=compare_help)
    epsilon_help = "compare: budgets (default: 1 10)"
    parser.add_argument("--epsilon", nargs="+", type=EPSILON, default=[1.0, 10.0], help=epsilon_help)
    shares = " ".join(map(str, COMPARED_SHARES))
    shares_help = f"compare: %% of landmarks (default: {shares})"
    parser.add_argument("--shares", nargs="+", type=SHARE, default=COMPARED_SHARES, help=shares_help)
    parser.add_argument("--no-plots", action="store_true", help="draw nothing")
    parser.add_argument("--json", action="store_true", help=f"print OUT/{DOCUMENT} instead of tables")


def run(arguments: argparse.Namespace) -> int:
    """Evaluate and return 0; raise `UsageError` for unusable data or an unusable folder."""
    if not arguments.no_plots:
        try:
            prepare()
        except PlotError as error:
            raise UsageError(f"{error}, or use --no-plots") from None
    data = _data(arguments)
    first, second = arguments.compare
    comparison = Comparison(data, first, second, _distinct(arguments.epsilon), _distinct(arguments.shares))
    every = _every_step(arguments, data) if "statistics" in arguments.only else []
    evaluation = Evaluation.of(data, arguments.only, arguments.seeds, comparison, every)
    out: Path = arguments.out
    try:
        with Store(out, evaluation.data) as store:
            with progress("experiments") as moved:
                evaluation.run(store, arguments.jobs, moved or (lambda _, __: None))
            document = evaluation.document(store)
        with whole(out / DOCUMENT) as beside:
            beside.write_bytes(wire.dump(document) + b"\n")
        if not arguments.no_plots:
            from experiments.plots import draw  # noqa: PLC0415 - needs matplotlib, an extra

            drawn = draw(out, _named(document["experiments"], arguments.file))
        else:
            drawn = []
    except ProcessEndedError:
        raise UsageError(f"{ENDED}; finished trials are kept, and the same command continues after them") from None
    except OSError as error:
        raise UsageError(f"--out: {error.filename}: {unwritten(error)}; specify a writable folder") from None
    if arguments.json:
        print(wire.dump(document).decode())
        return 0
    console = Console()
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    found = _named(document["experiments"], arguments.file)
    for table in tables(found):
        console.print(table, crop=False)
    for note in _notes(found):
        console.print(note, highlight=False)
    unbounded = any(row["low"] is None for row in found.get("compare", ()))
    console.print(
        f"{evaluation.seeds} seeds; ± and .. are 95 % confidence intervals of means over the seeds"
        + (f"; {UNBOUNDED}: too few seeds for an interval" if unbounded else ""),
        highlight=False,
    )
    console.print(f"written: {', '.join(map(str, (out / DOCUMENT, *drawn)))}", soft_wrap=True, highlight=False)
    return 0


def _notes(found: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    """Yield the notes below the tables, which say what the methods are compared with."""
    if any(row.get("method") in HELD_AGAINST or "constant_error" in row for rows in found.values() for row in rows):
        yield NOTE
    if found.get("statistics"):
        yield SPAN_NOTE


def _every_step(arguments: argparse.Namespace, data: Sequence[DataSet]) -> list[DataSet]:
    """Return the data under new names, with all steps unless ``--steps`` limits them."""
    if arguments.steps is not None:
        found = list(data)
    elif arguments.file is not None:
        found = data_in(arguments, None)
    else:
        found = [PACKAGED[one.name](EVERY_STEP) for one in data]
    return [replace(one, name=f"{one.name} (all)") for one in found]


def _data(arguments: argparse.Namespace) -> list[DataSet]:
    steps = STEPS if arguments.steps is None else arguments.steps
    if arguments.file is not None:
        return data_in(arguments, steps)
    if arguments.policies is not None:
        raise UsageError("--policies: only for a FILE of data; omit it if there is no FILE")
    try:
        return [PACKAGED[name](steps) for name in _distinct(arguments.data)]
    except (ModuleNotFoundError, FileNotFoundError):
        raise UsageError(
            "the sample data are not installed; run pip install bokeh_sampledata, or specify a FILE"
        ) from None


def _named(experiments: Mapping[str, Sequence[Row]], file: Path | None) -> dict[str, list[Row]]:
    """Return the rows with readable data names; for a FILE, its name follows the glob, which may be *."""
    of = "" if file is None else f" of {file.name if file.name != '-' else 'standard input'}"
    return {name: [{**row, "data": f"{row['data']}{of}"} for row in rows] for name, rows in experiments.items()}


def _distinct(words: Iterable[Word]) -> list[Word]:
    return list(dict.fromkeys(words))


def _method(text: str) -> str:
    try:
        Method.named(text, LANDMARK_SCHEMES)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def data_in(arguments: argparse.Namespace, steps: int | None = STEPS) -> list[DataSet]:
    """Return a data set for each policy that applies to a series, with its first ``steps`` steps or all.

    Raises `UsageError` if there is nothing to evaluate.
    """
    if arguments.policies is None:
        raise UsageError("--policies: required with FILE, because a policy gives the kind of the values and the step")
    with mendable(InvalidSettingsError):
        context = Context(key_of(0), policies_in(arguments.policies, Limits()), Limits())
    ruled: dict[str, DefaultPolicy | None] = {}
    found: dict[str, list[Observation]] = {default.glob: [] for default in context.defaults}
    file = EventFile(arguments)
    for event in file:
        record = wire.decode(event)
        if not isinstance(record, Observation):
            continue
        if record.series not in ruled:
            ruled[record.series] = context.default_for(record.series)
        default = ruled[record.series]
        if default is not None and default.policy.collect is not None:
            raise UsageError(
                f"{arguments.policies}: {default.glob}: the policy collects what contributors send, but experiments "
                "measure series with one value per step; use `plan` for the cost of a collected step, or remove collect"
            )
        # PRIVACY: raw values decide what is evaluated, and all results are for the publisher alone. A substitute would
        # have no error, so invalid values are omitted.
        if default is not None and strict(default.policy).quantise(record.value) is not None:
            found[default.glob].append(record)
    defaults = {default.glob: default for default in reversed(context.defaults)}
    column = ",".join(file.mapping.value_columns.values()) if file.mapping else "the value"
    sets = [_set(defaults[glob], each, column) for glob, each in found.items() if each]
    sets = sets if steps is None else [one.first(steps) for one in sets]
    if not sets:
        raise UsageError(f"{arguments.file}: no valid value of a series with a policy; check globs and kinds")
    return sets


def _set(default: DefaultPolicy, observations: list[Observation], column: str) -> DataSet:
    policy = default.policy
    value = policy.parameters["value"]
    if not isinstance(value, dict):
        raise TypeError("a policy's value is an object")
    # Experiments compute their own statistics from single readings.
    value = {name: member for name, member in value.items() if name not in OF_STATISTICS}
    step_ms = policy.step_ms if policy.units is None else policy.units.unit_ms
    epsilon = policy.epsilon_nano / NANO
    unit = f"units of {column}" if value["kind"] == "number" else UNITS[value["kind"]]
    return DataSet.of(observations, DataSet(default.glob, unit, epsilon, step_ms, value, {}))
