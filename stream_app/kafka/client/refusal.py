"""Explains why a request to the brokers failed: the request, the answer and the remedy, without passwords."""

import asyncio
import logging
import os
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from aiokafka import errors
from aiokafka.conn import collect_hosts, create_conn

from stream_app.kafka.client.batches import UnreadableBatchError
from stream_app.kafka.client.cluster import ClusterError
from stream_app.kafka.client.security import client_arguments
from stream_app.setup.settings import Settings

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")

GRANT = "Allow it: `topics --acls ROLE=PRINCIPAL` prints the commands for the rights of a role"
_DENIED = {
    errors.TopicAuthorizationFailedError: "topic",
    errors.GroupAuthorizationFailedError: "group",
    errors.TransactionalIdAuthorizationFailed: "transactional id",
    errors.ClusterAuthorizationFailedError: "the cluster",
}
_LOGIN_SECONDS = 10.0
_PAUSES_SECONDS = (0.5, 1.0, 2.0, 4.0)


def unauthorized(error: BaseException | None) -> bool:
    """Return whether the brokers' ACLs caused the error, which aiokafka may wrap in a general error."""
    return error is not None and (isinstance(error, tuple(_DENIED)) or unauthorized(error.__cause__))


@dataclass(frozen=True, slots=True)
class Refusal:
    """What was asked of the brokers, what was found instead, and what the operator can do."""

    asked: str
    found: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.asked}: {self.found}. {self.remedy}"


def refusal_of(settings: Settings, error: Exception) -> Refusal:
    """Return a Kafka client's error as a message that the user can act on.

    After a failed login or handshake, clients report only that there is no broker; another connection finds the cause.
    """
    if isinstance(error, UnreadableBatchError):
        return Refusal(f"expected {error.asked}", f"found {error.found}", error.remedy)
    asked = f"brokers at {settings.bootstrap_servers} (bootstrap_servers)"
    if isinstance(error, errors.KafkaConnectionError):
        error = asyncio.run(_tried(settings)) or error
    return Refusal(asked, *_explained(settings, error, _said(error)))


def _said(error: Exception) -> str:
    """Return the text of an error as Kafka describes it, without its class and number."""
    if isinstance(error, errors.KafkaTimeoutError | errors.RequestTimedOutError):
        return "no answer arrived in time"
    of = ", ".join(_named(error))
    if described := getattr(error, "description", ""):
        told = described[0].lower() + described[1:].rstrip(".")
        return f"{told} ({of})" if of else told
    if of.startswith("Unable to bootstrap"):
        return "no broker answered"
    return of or type(error).__name__


def _named(error: BaseException) -> Iterator[str]:
    """Yield the names in an error, such as topics: aiokafka passes a string or a collection of strings."""
    for each in error.args:
        yield from (str(one) for one in (each if isinstance(each, frozenset | set | list | tuple) else (each,)))


def _denied(settings: Settings, error: BaseException) -> str:
    for kind, noun in _DENIED.items():
        if isinstance(error, kind):
            names = settings.application if noun == "group" else ", ".join(_named(error))
            return f"{noun} {names}".rstrip()
    within = error.__cause__
    return str(error) if within is None or isinstance(error, ClusterError) else _denied(settings, within)


async def _tried(settings: Settings) -> Exception | None:
    """Connect to each configured broker; return a TLS or login error if any, else the first other error or None."""
    client = client_arguments(settings)
    why: Exception | None = None
    for host, port, _ in collect_hosts(client.pop("bootstrap_servers")):
        error = await _failed(client, host, port, _LOGIN_SECONDS)
        if isinstance(error, ssl.SSLError | errors.SaslAuthenticationFailed | errors.AuthenticationFailedError):
            return error
        why = why or error
    return why


async def _failed(client: dict[str, Any], host: str, port: int, seconds: float) -> Exception | None:
    """Connect to a broker; return the error, or None on success."""
    try:
        connection = await create_conn(host, port, request_timeout_ms=int(seconds * 1000), **client)
    except (errors.KafkaError, OSError) as error:  # including TimeoutError
        return error
    connection.close()
    return None


async def silent_brokers(settings: Settings, seconds: float) -> list[str]:
    """Return the configured brokers to which no connection can be opened within ``seconds``."""
    client = client_arguments(settings)
    named = [(host, port) for host, port, _ in collect_hosts(client.pop("bootstrap_servers"))]
    found = await asyncio.gather(*(_failed(client, host, port, seconds) for host, port in named))
    return [f"{host}:{port}" for (host, port), failed in zip(named, found, strict=True) if failed is not None]


async def repeated(ask: Callable[[], Awaitable[Answer]], settings: Settings) -> Answer:
    """Return the result of ``ask``; repeat the call if a reachable broker left a request unanswered.

    aiokafka repeats no request while a client starts, so a single broken connection would end a worker. Raises
    `aiokafka.errors.KafkaError` if no broker can be reached, the error is permanent, or the last call fails.
    """
    for pause_seconds in _PAUSES_SECONDS:
        try:
            return await ask()
        except errors.KafkaError as error:
            named = settings.bootstrap_servers.split(",")
            if not error.retriable or len(await silent_brokers(settings, _LOGIN_SECONDS)) == len(named):
                raise
            logger.warning("a broker did not answer a request: %r; retrying in %.1f s", error, pause_seconds)
        await asyncio.sleep(pause_seconds)
    return await ask()


def _explained(settings: Settings, error: Exception, found: str) -> tuple[str, str]:
    if unauthorized(error):
        return f"{_principal(settings)} is not allowed to do this ({_denied(settings, error)})", GRANT
    if isinstance(error, errors.SaslAuthenticationFailed):
        remedy = "Correct sasl_user, sasl_password_file and sasl_mechanism, or create the user on the brokers"
        return f"they refuse the password of {_principal(settings)} ({found})", remedy
    if isinstance(error, ssl.SSLCertVerificationError):
        remedy = (
            "Set ca_file to the signer's certificate, and bootstrap_servers to hosts that the brokers' "
            "certificate covers"
        )
        return f"their certificate is not trusted ({error.verify_message})", remedy
    if isinstance(error, ssl.SSLError):
        remedy = (
            "Compare security_protocol with the brokers' listener, and certificate_file with the signers that they "
            "trust"
        )
        return f"the TLS handshake failed ({found})", remedy
    if isinstance(error, errors.KafkaConnectionError) and settings.security_protocol != "PLAINTEXT":
        remedy = "Check that a broker listens there with security_protocol and accepts certificate_file, which must be "
        return found, f"{remedy}trusted and not expired"
    remedy = "Start a broker with `kafka start`, or specify other brokers"
    return _unreached(error) if isinstance(error, OSError) else found, remedy


def _unreached(error: OSError) -> str:
    """Return why a connection failed; for several addresses, Python joins the errors into one without a number."""
    match error:
        case ConnectionRefusedError():
            return "nothing is listening there"
        case TimeoutError():
            return "no answer arrived in time"
        case socket.gaierror():
            return "the host name is unknown"
        case _ if error.errno is not None and error.strerror == os.strerror(error.errno):
            return error.strerror.lower()
        case _:
            return "no connection can be made"


def _principal(settings: Settings) -> str:
    if settings.sasl_user is not None:
        return f"user {settings.sasl_user}"
    return f"the holder of {settings.certificate_file}" if settings.certificate_file else "an anonymous user"
