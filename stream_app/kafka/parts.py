"""The parts that a worker's partitions share: the cluster, rows, processing context and metrics."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from stream_app.deciding.columns.sorting import FEWEST
from stream_app.deciding.context import Context
from stream_app.heads.signing import SigningKey
from stream_app.kafka.brokers import Brokers, Feed, Rows
from stream_app.kafka.client.topics import TopicNames
from stream_app.monitoring.metrics import Metrics
from stream_app.setup.keyfile import fresh_secret
from stream_app.setup.settings import Settings


def wall_ms() -> int:
    """Return the milliseconds since 1970-01-01 UTC by this machine's clock."""
    return int(time.time() * 1000)


@dataclass(slots=True)
class ReadBack:
    """The progress of restoring states."""

    rows: int = 0  # changelog rows read in total
    remaining: dict[int, int] = field(default_factory=dict)  # remaining changelog offsets, by partition


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The topics of one application, and the parts needed for processing and rebuilding."""

    settings: Settings
    context: Context
    names: TopicNames
    brokers: Brokers
    now_ms: Callable[[], int] = wall_ms  # stamps rows, claims and signed checkpoints; nobody relies on it
    secret: Callable[[], bytes] = fresh_secret
    """Returns 32 random bytes: a salt for open steps' counters, or the name of a changelog life."""
    accept_new_key: bool = False
    """Whether partitions last written under another noise key continue under this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerParts(Site):
    """A site with the parts that only a worker has."""

    signing_key: SigningKey | None  # None: no checkpoints
    metrics: Metrics
    rows: Rows
    feed: Feed
    read_back: ReadBack = field(default_factory=ReadBack)
    fewest: int = FEWEST  # fewest events and series worth processing together
    aside: Callable[..., Awaitable[None]] = asyncio.to_thread
    """Runs a long call outside the event loop: in a thread, unless time is virtual."""


def new_life(site: Site) -> str:
    """Return a unique name for a new life (incarnation) of the changelog: 32 hexadecimal digits."""
    return site.secret()[:16].hex()
