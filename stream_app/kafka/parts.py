"""What the partitions of a worker share: the cluster, the rows, what decides, and where it shows."""

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
    """How reading states back goes on."""

    rows: int = 0  # changelog rows that were read, in all
    remaining: dict[int, int] = field(default_factory=dict)  # changelog offsets that are left, by partition


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The topics of one application, and what deciding and rebuilding over them needs."""

    settings: Settings
    context: Context
    names: TopicNames
    brokers: Brokers
    now_ms: Callable[[], int] = wall_ms  # stamps records whose time no reader relies on: rows, claims, heads
    secret: Callable[[], bytes] = fresh_secret
    """Returns 32 random bytes: the salt of what collected steps count, and the life of a changelog."""
    accept_new_key: bool = False
    """Whether partitions that were last written under another noise key go on under this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerParts(Site):
    """A site with a worker's own parts."""

    signing_key: SigningKey | None  # none: no heads are written
    metrics: Metrics
    rows: Rows
    feed: Feed
    read_back: ReadBack = field(default_factory=ReadBack)
    fewest: int = FEWEST  # events and series that are worth to be decided together
    aside: Callable[..., Awaitable[None]] = asyncio.to_thread
    """Runs a call that takes long beside the event loop: in a thread, but where time is virtual."""


def new_life(site: Site) -> str:
    """Return the name of a life of the changelog: 32 hexadecimal digits that no other life has."""
    return site.secret()[:16].hex()
