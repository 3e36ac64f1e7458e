"""``left``: print the remaining budget of each series, as records for starting over in other topics."""

import argparse
import asyncio
import sys
import time
from pathlib import Path

from stream_app.accounting.left import LeftError, Remains
from stream_app.accounting.starts import RemainingBudget
from stream_app.audit.files import UNCOMMITTED
from stream_app.audit.form.reader import dump
from stream_app.cli import UsageError, mendable, printable
from stream_app.cli.ledger.filesource import add_lifetime, lifetime_of, settings_of
from stream_app.cli.shared.arguments import readable
from stream_app.cli.shared.terminal import progress
from stream_app.formats import wire
from stream_app.setup.settings import Settings

LINES_BYTES = 128 * 1024
MOST_REFUSED = 20  # maximum number of refused series that the error names


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = (
        "First stop the old workers for good. The records to send are printed one per line, and standard error has a "
        "line per series. No records are printed unless workers with this configuration would accept all of them now. "
        "Without --ledger, the ledger's topic is read with its aborted entries, because they count too."
    )
    ledger_help = "the output of `read ledger --uncommitted`, instead of the topic"
    parser.add_argument("--ledger", type=Path, metavar="FILE", help=ledger_help)
    aborted_help = (
        "accept a ledger without aborted entries, such as `replay` writes; a worker's aborted entries would be missed"
    )
    parser.add_argument("--without-aborted", action="store_true", help=aborted_help)
    add_lifetime(parser)
    config_help = (
        "configuration of the workers that will read the records and, without --ledger, of the topic (default: "
        "landmark-stream.toml if it exists)"
    )
    parser.add_argument("--config", type=Path, help=config_help)
    parser.add_argument("--json", action="store_true", help="print one JSON object with the records of each series")


def run(arguments: argparse.Namespace) -> int:
    """Print the records; return 0, or 1 if the operator must make a decision about a series.

    Raises `UsageError` for unsuitable ledgers.
    """
    with mendable(LeftError, by=f"{arguments.ledger or 'the ledger topic'}: "):
        found = list(_read(arguments).left())
    _try(arguments, found)
    if arguments.json:
        print(dump({"series": [one.document() for one in found]}))
    else:
        for one in found:
            for record in one.records:
                print(wire.dump(record).decode())
            print(printable(str(one)), file=sys.stderr)
    return 1 if any(one.by_hand for one in found) else 0


def _try(arguments: argparse.Namespace, found: list[RemainingBudget]) -> None:
    """Process the records in memory; raise `UsageError` unless the new workers would accept them all."""
    # Importing the decision code takes a while, and an incomplete ledger does not need it.
    from stream_app.accounting.starts import faults  # noqa: PLC0415
    from stream_app.cli.shared.configured import settings_of as settings_in_force  # noqa: PLC0415
    from stream_app.setup.configuration import limits_of  # noqa: PLC0415

    refused = list(faults(found, limits_of(settings_in_force(arguments)), time.time_ns() // 1_000_000))
    if refused:
        shown = [printable(one) for one in refused[:MOST_REFUSED]]
        if len(refused) > len(shown):
            shown.append(f"and {len(refused) - len(shown)} more series")
        raise UsageError(
            "no records are printed, because no series may start over with only part of its remaining budget; "
            "--config specifies the configuration of the workers that will read the records:\n" + "\n".join(shown)
        )


def _read(arguments: argparse.Namespace) -> Remains:
    settings = settings_of(arguments)
    remains = Remains(lifetime_of(arguments, settings))
    if arguments.ledger is not None:
        _read_file(arguments, remains)
    else:
        assert settings is not None, "they are omitted only for files"
        _read_topic(settings, remains)
    return remains


def _read_file(arguments: argparse.Namespace, remains: Remains) -> None:
    path: Path = arguments.ledger
    with readable(f"--ledger {path}"), path.open("rb") as file, progress("left") as shown:
        whole = file.readline().strip() == UNCOMMITTED
        if whole and arguments.without_aborted:
            raise UsageError(f"--ledger {path}: was read with --uncommitted; omit --without-aborted")
        if not whole and not arguments.without_aborted:
            raise UsageError(
                f"--ledger {path}: was not read with --uncommitted, so it lacks aborted entries, which count too; use "
                "the output of `read ledger --uncommitted`, or add --without-aborted if no worker wrote the ledger"
            )
        if not whole:
            file.seek(0)
        while lines := file.readlines(LINES_BYTES):
            remains.take([text for line in lines if (text := line.strip())])
            if shown is not None:
                shown(file.tell(), path.stat().st_size)


def _read_topic(settings: Settings, remains: Remains) -> None:
    # Importing a Kafka client takes seconds, and files do not need it.
    from stream_app.cli.shared.configured import reaching  # noqa: PLC0415
    from stream_app.kafka.client.log import records_of  # noqa: PLC0415

    async def take() -> None:
        async for record in records_of(settings, f"{settings.prefix}.ledger", isolation="read_uncommitted"):
            remains.take([record.value])

    with reaching(settings):
        asyncio.run(take())
