"""`read_releases`: releases from a folder, a file or the topics, with the ledger's public policies."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, get_args

from stream_app.analysis.means import MeasuredRelease
from stream_app.analysis.policies import STEP, Policies
from stream_app.analysis.release import Release
from stream_app.analysis.rows import columns_of, row_of
from stream_app.api.given import Error, path_of, told
from stream_app.api.tables import Library, Table
from stream_app.formats import wire
from stream_app.privacy.policy import PolicyError
from stream_app.setup.settings import Settings

LEDGER, RELEASES = "ledger.jsonl", "releases.jsonl"


class Releases(Table):
    """Releases, one per row: ``value``, ``measurement``, its interval ``low .. high``, ``landmark``, etc.

    The intervals are 95 % intervals; `docs/library.md` lists all columns. The table keeps the public policies, so that
    `mean` and `smooth` are exact.
    """

    def __init__(self, releases: Iterable[Release], policies: Policies, library: Library = "rows") -> None:
        self._measured: Final = tuple(map(policies.of, releases))
        super().__init__((row_of(*found) for found in self._measured), library, "Releases")
        self._columns: Final = columns_of(self)

    @property
    def columns(self) -> list[str]:
        """The names of all columns: series and time, then value, measurement, and facts about its noise."""
        return list(self._columns)

    @property
    def measured(self) -> tuple[MeasuredRelease, ...]:
        """Each release with its policy, in the form that `stream_app.analysis` accepts."""
        return self._measured


def read_releases(
    source: str | Path | None = None,
    *,
    ledger: str | Path | None = None,
    series: str | None = None,
    config: str | Path | None = None,
    library: Library = "rows",
) -> Releases:
    """Return releases from a `release` or `replay` folder, a file, or the topics if ``source`` is omitted.

    For a file, ``ledger`` is the file with the policies. Without it, neither landmarks nor intervals are known, and
    `mean` does not accept the releases. ``config`` is the configuration file that says where the topics are; only
    committed records are read. ``series`` selects one series. ``library`` is the library that ``frame`` uses.

    Raises:
        Error: for anything unreadable.
    """
    if library not in get_args(Library):
        raise Error.of("library", f"is not one of {', '.join(get_args(Library))}")
    if source is None:
        return _chosen(_from_topics(config), series, library)
    path = path_of(source, "source", "the folder that release() wrote, or a file of releases")
    if path.is_dir():
        return read_folder(path, library, series)
    beside = None if ledger is None else path_of(ledger, "ledger", "the file with the policies")
    return _chosen(_from_files(path, beside), series, library)


def read_folder(folder: Path, library: Library, series: str | None = None) -> Releases:
    """Return the releases in a folder that `release` wrote."""
    return _chosen(_from_files(folder / RELEASES, folder / LEDGER), series, library)


def _chosen(found: tuple[list[Release], Policies], series: str | None, library: Library) -> Releases:
    releases, policies = found
    return Releases([each for each in releases if series is None or each.series == series], policies, library)


def _from_files(releases: Path, ledger: Path | None) -> tuple[list[Release], Policies]:
    policies, found = Policies(), list[Release]()
    for place, entry in _records(ledger) if ledger is not None else ():
        try:
            policies.entry(entry)
        except (PolicyError, LookupError, TypeError, ValueError, AssertionError):  # errors of foreign files
            raise Error.of(place, "is not a ledger entry; use the ledger beside the releases") from None
    for place, record in _records(releases):
        try:
            release = Release.of(record)
        except (LookupError, TypeError, ValueError):
            raise Error.of(place, "is not a release; use a file of releases that `read` or `replay` wrote") from None
        try:
            release.check_under(policies.of(release).policy)
        except (TypeError, ValueError):
            wrong = "differs in kind or scale from its policy in the ledger"
            raise Error.of(place, f"{wrong}; use both files from the same run") from None
        found.append(release)
    return found, policies


def _records(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    with told():
        lines = path.read_bytes().splitlines()
    for number, line in enumerate(lines, 1):
        try:
            record: Any = wire.load(line)
        except ValueError:
            record = None
        if not isinstance(record, dict):
            raise Error.of(f"{path}:{number}", "is not a record; use a file that `read` or `replay` wrote")
        yield f"{path}:{number}", record


def _from_topics(config: str | Path | None) -> tuple[list[Release], Policies]:
    with told():
        settings = Settings.load(None if config is None else path_of(config, "config", "a settings file"))
    # A notebook has its own event loop, so this one runs in another thread.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, _read_topics(settings)).result()


async def _read_topics(settings: Settings) -> tuple[list[Release], Policies]:
    from aiokafka.errors import KafkaError  # noqa: PLC0415 - a client of Kafka takes seconds to load

    from stream_app.kafka.client.log import records_of  # noqa: PLC0415
    from stream_app.kafka.client.refusal import refusal_of  # noqa: PLC0415
    from stream_app.kafka.client.topics import TopicNames  # noqa: PLC0415
    from stream_app.kafka.evidence.claim import is_claim  # noqa: PLC0415

    names, policies, releases = TopicNames.of(settings.prefix, settings.application), Policies(), list[Release]()
    try:
        # Read the releases first, so that the ledger already contains their policies when it is read.
        async for record in records_of(settings, names.releases):
            found: Any = wire.load(record.value)
            releases.append(Release.of(found))
        async for record in records_of(settings, names.ledger):
            if not is_claim(record) and STEP not in (record.value or b""):
                entry: Any = wire.load(record.value)
                policies.entry(entry)
    except LookupError as error:
        raise Error.of("config", str(error)) from None
    except KafkaError as error:
        raise Error.of("config", str(refusal_of(settings, error))) from None
    return releases, policies
