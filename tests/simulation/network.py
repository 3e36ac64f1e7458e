"""What the workers of a run share: a cluster across a network, settings, a key for heads."""

from collections.abc import Callable
from functools import lru_cache
from random import Random  # noqa: TID251 (draws how late markers are, no noise)
from typing import TYPE_CHECKING, Any, Final, TypeVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from stream_app.heads.signing import SigningKey
from stream_app.kafka.client.topics import TopicNames
from stream_app.monitoring.metrics import Metrics
from stream_app.setup.settings import Settings
from tests.cluster.brokers import MemoryBrokers
from tests.cluster.cluster import NOBODY, MemoryCluster
from tests.cluster.group import Place
from tests.cluster.transactions import Kind
from tests.cluster.writer import MemoryWriter
from tests.simulation.feed import SESSION_MS
from tests.simulation.life import APPLICATION
from tests.simulation.plans.schedule import Schedule
from tests.simulation.plans.workload import SEPARATOR

if TYPE_CHECKING:
    from tests.simulation.life import Life
    from tests.simulation.world import World

_T = TypeVar("_T")
TRANSACTION_MS: Final = 10_000
_REBALANCE_MS: Final = 15_000


class Quiet(Metrics):
    """Measures nothing: thousands of workers start in a minute."""

    def __init__(self) -> None:
        """Make no measure."""

    def _nothing(self, *_: Any) -> None:
        """Do nothing."""

    count = set = replace = withdraw = observe = drop = forget = _nothing  # type: ignore[assignment]


QUIET: Final = Quiet()
SIGNING_KEY: Final = SigningKey(Ed25519PrivateKey.from_private_bytes(bytes(32)))


@lru_cache
def settings_of(
    application: str, partitions: int, batch_records: int, cached_series: int, separator: str | None
) -> Settings:
    """Return the settings of every worker; if ``cached_series`` is small, rows are read back during commits."""
    given: dict[str, Any] = {
        "application": application,
        "prefix": APPLICATION,
        "partitions": partitions,
        "session_timeout_ms": SESSION_MS,
        "transaction_timeout_ms": TRANSACTION_MS,
        "batch_records": batch_records,
        "head_interval_ms": 5_000,
        "member_separator": separator,
    }
    # Fewer than an operator may choose: three to eight series have to find the cache full.
    return Settings(**given).model_copy(update={"cached_series": cached_series})


def settings_for(schedule: Schedule, application: str) -> Settings:
    """Return the settings of an application's workers in a run."""
    cached_series = 1 if schedule.seed % 2 else 100_000
    separator = SEPARATOR if schedule.members else None
    return settings_of(application, schedule.partitions, schedule.batch_records, cached_series, separator)


class DistantCluster(MemoryCluster):
    """The cluster in memory, across each worker's network."""

    def __init__(self, world: "World") -> None:
        """Begin without topics."""
        draw = Random(f"markers {world.schedule.seed}")
        lag = 300 if draw.random() < 0.3 else 0
        super().__init__(
            world.now_ms, marker_lag_ms=lambda: draw.randrange(lag) if lag else 0, rebalance_ms=_REBALANCE_MS
        )
        self._world = world
        self.grown = True
        """Whether a log has grown since somebody last looked."""

    def append(self, *arguments: Any, **named: Any) -> int:
        """Append, and report that there is something to look at."""
        self.grown = True
        return super().append(*arguments, **named)

    def _mark(self, place: Place, producer: int, epoch: int, kind: Kind) -> None:
        self.grown = True
        super()._mark(place, producer, epoch, kind)

    async def request(self, point: str, client: str, effect: Callable[[], _T]) -> _T:
        """Let a worker's request travel."""
        return await self._world.lives_by_name[client].exchange(point, effect)


class DistantBrokers(MemoryBrokers):
    """The cluster as one worker's partitions see it."""

    def __init__(self, life: "Life") -> None:
        """Make requests through the network of a worker."""
        world = life.world
        names = TopicNames.of(APPLICATION, life.application)
        super().__init__(world.cluster, life.name, life.application, names, transaction_timeout_ms=TRANSACTION_MS)
        self._life = life

    async def fence(self, partition: int) -> MemoryWriter:
        """Fence, and record who did so last: a frozen worker may hear of its own fence after the next one."""
        writer, world = await super().fence(partition), self._life.world
        if self._life.application == APPLICATION and writer.identity > world.fences.get(partition, NOBODY):
            world.fences[partition], world.fencers[partition] = writer.identity, self._life
        return writer
