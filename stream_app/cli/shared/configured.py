"""The settings in force, and readable messages with a remedy for Kafka errors."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from aiokafka.errors import KafkaError

from stream_app.cli import UsageError, mendable
from stream_app.kafka.client.cluster import ClusterError
from stream_app.kafka.client.refusal import refusal_of
from stream_app.monitoring.logs import without_bootstrap_errors
from stream_app.setup.settings import InvalidSettingsError, Settings


def settings_of(arguments: argparse.Namespace) -> Settings:
    """Return the settings in force; raise `UsageError` with all their problems."""
    with mendable(InvalidSettingsError, by="configuration:\n"):
        return Settings.load(arguments.config)


@contextmanager
def reaching(settings: Settings) -> Iterator[None]:
    """Turn errors from the brokers into a `UsageError` that names the brokers and the remedy."""
    try:
        with without_bootstrap_errors():
            yield
    except BrokenPipeError:  # the reader of the output stopped; a broker that goes away is a `KafkaError`
        raise
    except LookupError as error:
        raise UsageError(str(error)) from None
    except (KafkaError, ClusterError, OSError) as error:
        raise UsageError(str(refusal_of(settings, error))) from None
