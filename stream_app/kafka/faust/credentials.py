"""How Faust reaches the brokers: as every other client of the program."""

from faust.auth import SASLCredentials, SSLCredentials
from faust.types.auth import CredentialsT

from stream_app.kafka.client.security import tls_context
from stream_app.setup.settings import Settings


def faust_credentials(settings: Settings) -> CredentialsT | None:
    """Return Faust's credentials; its own rule (no TLS context, so plain text) must never choose the protocol."""
    if settings.security_protocol == "PLAINTEXT":
        return None
    context = tls_context(settings)
    if settings.security_protocol == "SSL":
        return SSLCredentials(context)
    credentials = SASLCredentials(
        username=settings.sasl_user,
        password=settings.password(),
        ssl_context=context,
        mechanism=settings.sasl_mechanism,
    )
    chosen = credentials.protocol.value
    if chosen != settings.security_protocol:
        raise AssertionError(f"Faust would use {chosen} where the settings say {settings.security_protocol}")
    return credentials
