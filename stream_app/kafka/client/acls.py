"""What each role needs of the brokers, and no more: Kafka's ACLs for the settings' names.

Kafka lets whoever may read or write a topic describe it too; a group and a transactional id likewise. Whoever may write
a topic may use an idempotent producer.
https://kafka.apache.org/documentation/#operations_resources_and_protocols
"""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import Literal, NamedTuple

from stream_app.kafka.client.topics import TopicNames, verified_prefix
from stream_app.setup.settings import Settings

Operation = Literal["Read", "Write", "Create", "Describe", "DescribeConfigs", "Delete"]


class Access(NamedTuple):
    """One thing that is allowed."""

    resource: Literal["topic", "group", "transactional-id"]
    name: str
    operation: Operation
    pattern: Literal["literal", "prefixed"] = "literal"


def _topics(names: Iterable[str], *operations: Operation) -> Iterator[Access]:
    return (Access("topic", name, operation) for name, operation in product(names, operations))


def _transactions(settings: Settings) -> Access:
    return Access("transactional-id", f"{settings.application}-", "Write", "prefixed")


def _operator(names: TopicNames, _: Settings) -> Iterator[Access]:
    yield from _topics(names[:-1], "Create", "Describe", "DescribeConfigs")
    yield from _topics([names.changelog], "Create", "Read", "DescribeConfigs")


def _producer(names: TopicNames, _: Settings) -> Iterator[Access]:
    yield from _topics([names.events], "Write")


def _registrar(names: TopicNames, settings: Settings) -> Iterator[Access]:
    yield from _topics([names.events], "Write")
    yield from _topics([names.ledger, names.rejects], "Read")
    yield Access("group", settings.application, "Describe")


def _worker(names: TopicNames, settings: Settings) -> Iterator[Access]:
    yield from _topics([names.events], "Read", "DescribeConfigs")
    outputs = [names.releases, names.rejects, names.ledger, names.changelog]
    yield from _topics(outputs, "Read", "Write", "DescribeConfigs")
    if settings.signing_key_file is None:
        yield from _topics([names.heads], "Describe", "DescribeConfigs")
    else:
        yield from _topics([names.heads], "Read", "Write", "DescribeConfigs")
    yield Access("group", settings.application, "Read")
    yield _transactions(settings)


def _recoverer(names: TopicNames, settings: Settings) -> Iterator[Access]:
    yield from _topics([names.events, names.rejects], "Read")
    yield from _topics([names.releases, names.ledger, names.changelog], "Read", "Write")
    yield from _topics([names.heads], "Describe" if settings.signing_key_file is None else "Read")
    yield Access("group", settings.application, "Describe")
    yield _transactions(settings)


def _eraser(names: TopicNames, settings: Settings) -> Iterator[Access]:
    yield from _topics([names.events, names.ledger, names.changelog], "Read")
    yield from _topics([names.releases, names.rejects, names.heads], "Describe")
    yield Access("group", settings.application, "Describe")


def _verifier(_: TopicNames, settings: Settings) -> Iterator[Access]:
    own = verified_prefix(settings.prefix)
    for operation in ("Create", "Read", "Write", "DescribeConfigs", "Delete"):
        yield Access("topic", own, operation, "prefixed")
    yield Access("group", own, "Read", "prefixed")
    yield Access("transactional-id", own, "Write", "prefixed")


def _reader(names: TopicNames, _: Settings) -> Iterator[Access]:
    yield from _topics([names.releases], "Read")


def _auditor(names: TopicNames, _: Settings) -> Iterator[Access]:
    yield from _topics([names.ledger, names.releases, names.heads], "Read")


_NEEDS: Mapping[str, Callable[[TopicNames, Settings], Iterator[Access]]] = {
    "operator": _operator,  # topics
    "producer": _producer,  # policy, send, watermark, resend
    "registrar": _registrar,  # landmarks, and what has --wait
    "worker": _worker,
    "recoverer": _recoverer,  # recover, read events, read rejects
    "eraser": _eraser,  # keys erase
    "verifier": _verifier,  # verify --worker
    "reader": _reader,  # read releases
    "auditor": _auditor,  # audit, explain, left, standing, read
}
ROLES = tuple(_NEEDS)


def needs(role: str, settings: Settings) -> tuple[Access, ...]:
    """Return what one of `ROLES` needs, under the names that the settings give."""
    return tuple(_NEEDS[role](TopicNames.of(settings.prefix, settings.application), settings))


def commands(role: str, principal: str, settings: Settings) -> Iterator[str]:
    """Yield the lines of a shell script that gives a role to a principal; its arguments go to each `kafka-acls`."""
    operations: dict[tuple[str, str, str], list[str]] = {}
    for access in needs(role, settings):
        operations.setdefault((access.resource, access.pattern, access.name), []).append(access.operation)
    together: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for (resource, pattern, name), several in operations.items():
        together.setdefault((resource, pattern, tuple(several)), []).append(name)
    for (resource, pattern, allowed), names in together.items():
        words = ["kafka-acls", "--bootstrap-server", settings.bootstrap_servers, "--add"]
        words += ["--allow-principal", principal]
        words += [word for name in names for word in (f"--{resource}", name)]
        words += ["--resource-pattern-type", pattern] if pattern != "literal" else []
        words += [word for operation in allowed for word in ("--operation", operation)]
        yield f'{shlex.join(words)} "$@"'
