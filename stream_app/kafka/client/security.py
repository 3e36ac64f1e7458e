"""The transport security that all clients of the program use to reach the brokers."""

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient

import stream_app.kafka.client.batches  # noqa: F401 (from here on every consumer says which batch it cannot decode)
from stream_app.setup.brokers import load_certificate
from stream_app.setup.settings import Settings


def client_arguments(settings: Settings) -> dict[str, Any]:
    """Return the arguments that every aiokafka client needs to reach the brokers."""
    arguments: dict[str, Any] = {
        "bootstrap_servers": settings.bootstrap_servers,
        "security_protocol": settings.security_protocol,
        "ssl_context": tls_context(settings),
    }
    if settings.security_protocol.startswith("SASL"):
        arguments["sasl_mechanism"] = settings.sasl_mechanism
        arguments["sasl_plain_username"] = settings.sasl_user
        arguments["sasl_plain_password"] = settings.password()
    return arguments


@asynccontextmanager
async def started(client: Any) -> AsyncIterator[Any]:
    """Start an aiokafka client for a ``with`` block, because aiokafka's own block leaves a failed client open."""
    try:
        await client.start()
        yield client
    finally:
        await client.stop()


@asynccontextmanager
async def administered(client: Mapping[str, Any]) -> AsyncIterator[AIOKafkaAdminClient]:
    """Connect an admin client with the arguments that every client gets, for a ``with`` block."""
    admin = AIOKafkaAdminClient(**client)
    try:
        await admin.start()
        yield admin
    finally:
        await admin.close()


def tls_context(settings: Settings) -> ssl.SSLContext | None:
    """Return the TLS context that the settings describe; None if the protocol has no TLS."""
    if settings.security_protocol not in ("SSL", "SASL_SSL"):
        return None
    context = ssl.create_default_context(cafile=settings.ca_file)
    if settings.certificate_file is not None and settings.certificate_key_file is not None:
        load_certificate(context, settings.certificate_file, settings.certificate_key_file)
    return context
