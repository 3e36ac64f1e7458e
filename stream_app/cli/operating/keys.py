"""``keys new|list|public|erase``: create and show keys, and erase old epochs; never print a secret."""

import argparse
import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from stream_app.cli import UsageError, mendable
from stream_app.cli.exits import exit_codes_of
from stream_app.cli.shared.arguments import add_config, milliseconds_of
from stream_app.cli.shared.configured import reaching, settings_of
from stream_app.deciding.context import Context
from stream_app.formats import wire
from stream_app.heads.signing import SigningKey, is_signing_key
from stream_app.kafka.client.routing import router
from stream_app.kafka.rebuild.dry_run import DryRun, dry_runs
from stream_app.privacy.noise.key import MINIMUM_EPOCH_MS, KeyRing
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS
from stream_app.setup import keyfile
from stream_app.setup.configuration import context_of
from stream_app.setup.keyfile import ClaimedKey, claimed, looked_at
from stream_app.setup.settings import InvalidSettingsError, Settings

HELP = "destroy the keys of old epochs for good, once nothing in Kafka needs them"
LAST_EPOCH = LAST_TIMESTAMP_MS // MINIMUM_EPOCH_MS
"""The largest epoch that an event can have, even with the shortest epochs; larger whole numbers are timestamps."""


def _add_erasing_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Destroys the keys of all epochs before the given one, for good. A dry run of each partition's restart "
        "without these keys comes first. Nothing is erased while the ledger has entries of an unfinished batch that "
        "need the keys, or while events of those epochs are unprocessed. Stop the workers of this machine first. "
        "Workers on other machines, with their own key files, may keep running; with --dry-run all workers may keep "
        "running. Nothing is written to Kafka."
    )
    parser.epilog = exit_codes_of("keys erase")
    before_help = (
        "keep the keys of this epoch and later ones: a time in the first epoch to keep (ISO 8601 with offset, or "
        "milliseconds since 1970), or its number"
    )
    parser.add_argument("--before", required=True, metavar="TIMESTAMP|EPOCH", help=before_help)
    add_config(parser)
    accept_rejects_help = "erase even if unprocessed records will be rejected or open steps will be skipped"
    parser.add_argument("--accept-rejects", action="store_true", help=accept_rejects_help)
    parser.add_argument(
        "--dry-run", action="store_true", help=("report what would happen, and erase nothing; workers may keep running")
    )
    offline_help = "the key was used only with `replay`, so check nothing in Kafka"
    parser.add_argument("--offline", action="store_true", help=offline_help)
    parser.add_argument("--epoch-ms", type=int, metavar="MS", help="with --offline: the configured key_epoch_ms")


def erase(arguments: argparse.Namespace) -> int:
    """Erase old epochs and return 0, or print the reason for refusing and return 1.

    Raises `KeyFileError` if a worker uses the file. May also raise `UsageError`.
    """
    settings = None if arguments.offline else settings_of(arguments)
    epoch_ms = _epoch_ms(arguments, settings)
    before = _epoch(arguments.before, epoch_ms)
    with looked_at(arguments.file, epoch_ms) if arguments.dry_run else claimed(arguments.file, epoch_ms) as key:
        found: list[DryRun] = []
        refusals: list[str] = []
        erased, ring, later = False, key.ring, key.without(before)
        if settings is not None:
            context = _context(settings, later)
            found = _dry_runs(settings, _context(settings, key.ring), context)
            refusals += [*_strangers(context, found), *_refusals(before, found, accepts=arguments.accept_rejects)]
        if isinstance(key, ClaimedKey) and not refusals:
            erased, ring = True, key.erase_before(before)
    if arguments.json:
        fields = {"file": str(arguments.file), "fingerprint": ring.fingerprint, "first_epoch": ring.first_epoch}
        fields |= {"before": before, "erased": erased, "refusals": refusals}
        print(wire.dump({**fields, "partitions": [_fields(one) for one in found]}).decode())
    else:
        _print(before, found, refusals)
        word = "erased" if erased else "nothing erased"
        print(f"{arguments.file}: {word}; key {ring.fingerprint}, first epoch {ring.first_epoch}")
        if arguments.dry_run:
            print("dry run: to erase, stop the workers of this machine that use the file, and omit --dry-run")
    return 1 if refusals else 0


def _epoch_ms(arguments: argparse.Namespace, settings: Settings | None) -> int:
    if settings is None:
        if arguments.epoch_ms is None:
            raise UsageError("--offline: add --epoch-ms, the key_epoch_ms with which the key was used")
        return int(arguments.epoch_ms)
    if arguments.epoch_ms is not None:
        raise UsageError("--epoch-ms: the configuration sets it (key_epoch_ms); omit it, or add --offline")
    if settings.key_epoch_ms is None:
        raise UsageError(
            "key_epoch_ms is not set, so the key has a single epoch and nothing can be erased. Specify the workers' "
            "configuration (--config), or set key_epoch_ms there"
        )
    return settings.key_epoch_ms


def _epoch(text: str, epoch_ms: int) -> int:
    number = milliseconds_of(text)
    if number is None:
        raise UsageError(f"--before {text}: neither an epoch number nor a time such as 2026-01-31T00:00Z")
    epoch = number if text.isdigit() and number <= LAST_EPOCH else number // epoch_ms
    now = int(time.time() * 1000) // epoch_ms
    if not 0 <= epoch <= now:
        raise UsageError(
            f"--before {text}: the first epoch to keep would be {epoch}; use 0 to {now}, the current epoch, because "
            "events of an erased epoch are rejected for good"
        )
    return epoch


def _context(settings: Settings, keys: KeyRing) -> Context:
    with mendable(InvalidSettingsError, by="configuration:\n"):
        return context_of(settings, keys, router(settings.partitions))


def _dry_runs(settings: Settings, whole: Context, later: Context) -> list[DryRun]:

    async def run() -> list[DryRun]:
        found = []
        with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True) as bars:
            bar = bars.add_task("rehearses partitions", total=settings.partitions)
            async for one in dry_runs(settings, whole, later, accept_new_key=True):  # `_strangers` reports it
                found.append(one)
                bars.advance(bar)
        return found

    with reaching(settings):
        return asyncio.run(run())


def _strangers(context: Context, found: Sequence[DryRun]) -> Iterator[str]:
    """Yield a message for each sign that the workers using the key have a different configuration."""
    rows = [one.row for one in found if one.row is not None]
    if not rows:
        return
    pairs = (
        ("key", context.keys.fingerprint, {row.key for row in rows}),
        ("configuration", context.fingerprint, {row.configuration for row in rows}),
    )
    for name, asked, used in pairs:
        if asked not in used:
            yield (
                f"found {name} {asked}, but the partitions' state was made with {', '.join(sorted(used))}. Specify the "
                "configuration of the workers that use this key file (--config)"
            )


def _refusals(before: int, found: Sequence[DryRun], *, accepts: bool) -> Iterator[str]:
    for one in found:
        place = f"partition {one.partition}: without the epochs before {before}"
        if (one.otherwise or one.lost) and not accepts:
            yield (
                f"{place}, {one.otherwise} of the {one.waiting} waiting records would get another answer (rejected as "
                f"key-erased, or as a consequence), and {one.lost} releases would be lost, including those of open "
                "collected steps. Let the workers process the records and close the steps first, or accept the loss "
                "(--accept-rejects)"
            )
        if one.stopped is not None:
            yield f"{place}, it would stop ({one.stopped.reason}): found {one.stopped.found}. {one.stopped.remedy}"


def _fields(one: DryRun) -> dict[str, object]:
    counts = {"waiting": one.waiting, "binding": one.binding, "otherwise": one.otherwise, "lost": one.lost}
    return {"partition": one.partition, **counts, "stopped": one.stopped.reason if one.stopped else None}


def _print(before: int, found: Sequence[DryRun], refusals: Sequence[str]) -> None:
    for one in found:
        print(
            f"partition {one.partition}: {one.waiting} records are waiting, and {one.otherwise} of them would get a "
            f"different answer without the epochs before {before}; {one.lost} releases would be lost; {one.binding} "
            "ledger entries must be computed again"
        )
    for refusal in refusals:
        print(f"refused: {refusal}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    new = actions.add_parser("new", help="write a new key file with mode 0600, and never overwrite an existing file")
    new.add_argument("file", type=Path, help="file to write the new key to")
    new.add_argument(
        "--signing",
        action="store_true",
        help=("create a key that signs the ledger's checkpoints (heads), instead of a noise key"),
    )
    show = actions.add_parser("list", help="show each key's fingerprint, and the first epoch of a noise key")
    show.add_argument("file", type=Path, nargs="+", help="key files")
    public = actions.add_parser("public", help="print the public key of a signing key, for auditors")
    public.add_argument("file", type=Path, help="a signing key file")
    erase = actions.add_parser("erase", help=HELP)
    erase.add_argument("file", type=Path, help="the noise key file; it is replaced")
    _add_erasing_arguments(erase)
    for action in (new, show, public, erase):
        action.add_argument("--json", action="store_true", help="print one JSON object per key")


def run(arguments: argparse.Namespace) -> int:
    """Perform the action; return 1 if erasing is refused and 2 if a key file cannot be used."""
    with mendable(keyfile.KeyFileError):
        match arguments.action:
            case "new":
                create = SigningKey.create if arguments.signing else keyfile.create
                _show(arguments, arguments.file, create(arguments.file))
            case "list":
                files = arguments.file
                keys = {each: SigningKey.load(each) if is_signing_key(each) else keyfile.load(each) for each in files}
                for path, key in keys.items():
                    _show(arguments, path, key)
            case "public":
                key = SigningKey.load(arguments.file)
                found = {"file": str(arguments.file), "fingerprint": key.fingerprint, "public": key.public_pem()}
                print(wire.dump(found).decode() if arguments.json else key.public_pem().removesuffix("\n"))
            case _:
                return erase(arguments)
    return 0


def _show(arguments: argparse.Namespace, path: Path, key: KeyRing | SigningKey) -> None:
    if isinstance(key, SigningKey):
        found: dict[str, object] = {"file": str(path), "fingerprint": key.fingerprint, "signs": "heads"}
        text = f"{path}: signing key {key.fingerprint}"
    else:
        found = {"file": str(path), "fingerprint": key.fingerprint, "first_epoch": key.first_epoch}
        text = f"{path}: key {key.fingerprint}, first epoch {key.first_epoch}"
    print(wire.dump(found).decode() if arguments.json else text)
