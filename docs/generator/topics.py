"""The page about topics, rendered from the AsyncAPI document."""

from typing import Any

from docs.generator.markdown import anchor, code, pages_top, sentence, table
from tests.schemas.catalogue import asyncapi, resolved, schema


def page() -> str:
    """Return the page: a section for each topic, with its messages, direction, partitioning and settings."""
    document = asyncapi()
    info = document["info"]
    return (
        pages_top("Topics", "schemas/asyncapi.v1.yaml") + f"{_paragraph(info['description'])}\n\n"
        "[The AsyncAPI document](../../schemas/asyncapi.v1.yaml) is the same for programs. Its host is the setting"
        " `bootstrap_servers`. [Records](records.md) has every member of every record,"
        " [Read releases](../how-to/read-releases.md) programs that read and write them.\n\n"
        + table(
            ("topic", "the worker", "records"),
            (_row(document, channel) for channel in document["channels"].values()),
        )
        + "".join(_section(document, name) for name in document["channels"])
    )


def _row(document: dict[str, Any], channel: dict[str, Any]) -> tuple[str, str, str]:
    address = channel["address"]
    return f"[`{address}`](#{anchor(address)})", _direction(document, channel), ", ".join(_records(document, channel))


def _section(document: dict[str, Any], name: str) -> str:
    channel = document["channels"][name]
    operation = _operation(document, channel)
    settings = resolved(document, channel["bindings"])["kafka"]["topicConfiguration"]
    messages = [resolved(document, message) for message in channel["messages"].values()]
    return (
        f"\n## {channel['address']}\n\n{_paragraph(channel['description'])}\n\n"
        f"The worker {_direction(document, channel)} it. {sentence(operation['summary'])}\n\n"
        + table(
            ("record", "what it is", "key", "headers"),
            (
                (
                    record,
                    sentence(message["title"]),
                    sentence(resolved(document, message["bindings"])["kafka"]["key"]["description"]),
                    _headers(document, message),
                )
                for record, message in zip(_records(document, channel), messages, strict=True)
            ),
        )
        + "\n"
        + table(
            ("setting of the topic", "value"),
            ((code(setting), code(_value(value))) for setting, value in settings.items()),
        )
    )


def _records(document: dict[str, Any], channel: dict[str, Any]) -> list[str]:
    """Return the links to a channel's records."""
    found = []
    for message in channel["messages"].values():
        file = resolved(document, message)["payload"]["schema"]["$ref"]
        title = schema(file.removeprefix("./").partition(".")[0])["title"]
        found.append(f"[{title}](records.md#{anchor(title)})")
    return found


def _headers(document: dict[str, Any], message: dict[str, Any]) -> str:
    if "headers" not in message:
        return "none"
    members = resolved(document, message["headers"])["properties"].items()
    return " ".join(f"{code(name)}: {sentence(member['description'])}" for name, member in members)


def _operation(document: dict[str, Any], channel: dict[str, Any]) -> dict[str, Any]:
    """Return the only operation on a channel."""
    operations = document["operations"].values()
    (found,) = (each for each in operations if resolved(document, each["channel"]) is channel)
    return dict(found)


def _direction(document: dict[str, Any], channel: dict[str, Any]) -> str:
    return {"receive": "reads", "send": "writes"}[_operation(document, channel)["action"]]


def _paragraph(text: str) -> str:
    return " ".join(text.split())


def _value(value: Any) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)
