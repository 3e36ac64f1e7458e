"""The part of ``audit`` that reads the committed records of the topics that the configuration names."""

import argparse
import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager

from stream_app.audit import Auditor
from stream_app.audit.files import Feed, Progress
from stream_app.audit.topic import (
    Followed,
    TopicError,
    Waiting,
    follow_topics,
    read_head_topic,
    read_ledger_topic,
    read_topics,
)
from stream_app.cli import UsageError
from stream_app.cli.ledger.headoptions import feed_head_files
from stream_app.cli.shared.configured import reaching
from stream_app.cli.shared.progress import progress
from stream_app.kafka.client.security import client_arguments
from stream_app.setup.settings import Settings


class TopicSource:
    """The topics of the ledger and, where they are asked for, of releases and heads."""

    def __init__(self, arguments: argparse.Namespace, settings: Settings) -> None:
        """Take what the arguments ask for of the topics that the settings name."""
        if arguments.releases is not None:
            raise UsageError("--releases FILE: give --ledger FILE with it; without files both topics are read")
        self._arguments = arguments
        self._settings = settings
        self._client = client_arguments(settings)
        self._releases = None if arguments.no_releases else f"{settings.prefix}.releases"
        self.topic = f"{settings.prefix}.ledger"

    @property
    def has_releases(self) -> bool:
        """Whether releases will be read."""
        return self._releases is not None

    def read(self, auditor: Auditor) -> set[tuple[str, int]]:
        """Feed everything to an auditor; return the (series, timestamp) to be judged for a missing partner."""
        feed_head_files(self._arguments, auditor)
        with self.reaching():
            if auditor.heads is not None and self._arguments.heads is True:
                topic = f"{self._settings.prefix}.heads"
                asyncio.run(read_head_topic(self._client, topic, auditor.heads.record))
            with progress("audit") as shown:
                return asyncio.run(read_topics(auditor, self._client, self.topic, self._releases, shown))

    def follow(self, auditor: Auditor, stop: asyncio.Event, seen: Progress) -> Coroutine[None, None, Waiting]:
        """Feed everything to an auditor as it is committed, until `stop` is set; return what `read` returns."""
        feed_head_files(self._arguments, auditor)
        heads = f"{self._settings.prefix}.heads" if self._arguments.heads is True else None
        return follow_topics(auditor, self._client, Followed(self.topic, self._releases, heads), stop, seen)

    def again(self, feed: Feed) -> None:
        """Feed the ledger once more: which series are drawn is known only after the first reading."""
        with self.reaching(), progress("draw") as shown:
            asyncio.run(read_ledger_topic(self._client, self.topic, feed, shown))

    @contextmanager
    def reaching(self) -> Iterator[None]:
        """Raise errors of brokers and topics as `UsageError`."""
        with reaching(self._settings):
            try:
                yield
            except TopicError as error:
                raise UsageError(str(error)) from error
