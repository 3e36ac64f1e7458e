"""What all tests share: one real Kafka broker a session."""

from collections.abc import Iterator

import pytest

from stream_app.kafka.broker import LocalBroker


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalBroker]:
    """Run a real broker on a free loopback port; tests make topics of their own names in it."""
    with LocalBroker.start(tmp_path_factory.mktemp("kafka")) as running:
        yield running
