"""What every partition of a worker works with."""

from dataclasses import dataclass, field
from typing import Any

from stream_app.deciding.context import Context
from stream_app.heads.signing import SigningKey
from stream_app.kafka.client.eventstopic import EventsTopic
from stream_app.kafka.client.topics import TopicNames
from stream_app.kafka.faust.table import RowStore
from stream_app.monitoring.metrics import Metrics
from stream_app.setup.settings import Settings


@dataclass(slots=True)
class ReadBack:
    """How reading states back goes on."""

    rows: int = 0
    """Changelog rows that were read, in all."""
    remaining: dict[int, int] = field(default_factory=dict)
    """Changelog offsets that are left, by partition."""


@dataclass(frozen=True, slots=True)
class Shell:
    """The parts of a worker that its partitions share."""

    settings: Settings
    context: Context
    signing_key: SigningKey | None
    """None: no heads are written."""
    topic: EventsTopic
    names: TopicNames
    metrics: Metrics
    store: RowStore
    consumer: Any  # `stream_app.kafka.faust.consumer.Consumer`, which knows the partitions in turn
    read_back: ReadBack = field(default_factory=ReadBack)
