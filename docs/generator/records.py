"""The page about records: every member of every record on every topic, from the JSON Schemas."""

import json
from collections.abc import Iterator
from typing import Any

from docs.generator.markdown import anchor, code, pages_top, table
from docs.generator.schema import domain
from tests.schemas.catalogue import DOCUMENTS, asyncapi, file_of, resolved, schemas

TOP = """\
Values are UTF-8 JSON, one record each. All times are milliseconds since 1970-01-01T00:00:00Z, budgets ending in `_nano`
are units of 1e-9 epsilon. [Topics](topics.md) has their
keys, headers, partitioning and settings; topics begin with the `prefix` setting, here `landmark`.
[Policies](../policies.md) explains the members of a policy.

"""
UNIONS = ("oneOf", "anyOf")
TERMS = file_of("terms")


def page() -> str:
    """Return the page: a section for each record, each followed by sections for the named objects in it."""
    listed = [
        (f"[{_title(name)}](#{anchor(_title(name))})", code(topic) if topic else "a file") for name, topic in _topics()
    ]
    seen: set[str] = set()
    sections = [section for name, topic in _topics() for section in _record(file_of(name), topic, seen)]
    top = pages_top("Records", "the schemas in schemas/") + TOP + table(("record", "topic"), listed)
    return "\n".join([top, *sections, _terms()])


def _topics() -> Iterator[tuple[str, str]]:
    """Yield every record with its topic, then the documents that are on no topic."""
    document = asyncapi()
    lies_on = {
        _payload(document, message): channel["address"]
        for channel in document["channels"].values()
        for message in channel["messages"].values()
    }
    return ((name, lies_on.get(file_of(name), "")) for name in DOCUMENTS)


def _payload(document: Any, message: Any) -> str:
    """Return the schema file of a message."""
    return str(resolved(document, message)["payload"]["schema"]["$ref"]).removeprefix("./")


def _title(name: str) -> str:
    return str(schemas()[file_of(name)]["title"])


def _record(file: str, topic: str, seen: set[str]) -> Iterator[str]:
    place = f"On `{topic}`. " if topic else ""
    text = f"{place}Schema: [`{file}`](../../schemas/{file}).\n"
    yield from _object(file, schemas()[file], seen, "##", text)


def _object(file: str, schema: Any, seen: set[str], level: str, place: str = "") -> Iterator[str]:
    """Yield the section of a schema, then the sections of the named objects that it refers to."""
    seen.add(schema["title"])
    inner: list[tuple[str, Any]] = []
    lines = [f"{level} {schema['title']}\n", schema["description"] + "\n"]
    if place:
        lines.append(place)
    forms = [each for union in UNIONS for each in schema.get(union, []) if "properties" not in each]
    if forms and "properties" not in schema:
        lines += ["One of:\n", "".join(f"* {_form(file, form, inner)}\n" for form in forms)]
    if "properties" in schema:
        rows = [_member(file, schema, name, inner) for name in schema["properties"]]
        lines.append(table(("member", "type", "required, or default", "meaning"), rows))
    rules = [_resolved(file, each)[1] for each in schema.get("allOf", [])]
    if rules:
        lines += ["Between members:\n", "".join(f"* {rule['title']}: {rule['description']}\n" for rule in rules)]
    yield "\n".join(lines)
    for of, each in inner:
        if each["title"] not in seen:
            yield from _object(of, each, seen, "###")


def _told(file: str, part: Any, inner: list[tuple[str, Any]]) -> str:
    """Return the type of a value; a type with a section of its own becomes a link and is added to ``inner``."""
    of, found = _resolved(file, part)
    if of == TERMS and "$ref" in part:
        return _term(found)
    if _has_section(of, found):
        inner.append(_referred(file, part) if "$ref" in part else (of, found))
        return f"[{found['title']}](#{anchor(found['title'])})"
    for union in UNIONS:
        if union in found:
            return " or ".join(dict.fromkeys(_told(of, each, inner) for each in found[union]))
    if found.get("type") == "object" and "properties" in found:
        return "object of " + " and ".join(code(name) for name in found["properties"])
    if found.get("type") == "array" and "items" in found and found["items"]:
        each = _told(of, found["items"], inner)
        return f"{domain({**found, 'items': None})}, each {f'({each})' if ' or ' in each else each}"
    if "prefixItems" in found:
        return f"list [{', '.join(_told(of, each, inner) for each in found['prefixItems'])}]"
    return domain(found)


def _form(file: str, part: Any, inner: list[tuple[str, Any]]) -> str:
    """Return a line for one of several forms; a form without a section of its own is described here."""
    of, found = _resolved(file, part)
    if _has_section(of, found) or "title" not in found:
        return _told(file, part, inner)
    return f"{found['title']}: {_told(file, part, inner)}. {found['description']}"


def _term(found: Any) -> str:
    """Return a link to a term that several records share, with the limit of this use if it differs."""
    term = next(each for each in schemas()[TERMS]["$defs"].values() if each["title"] == found["title"])
    own = domain({"type": "integer", "minimum": found["minimum"]}) if "minimum" in found else ""
    limit = own.removeprefix("integer") if found.get("minimum") != term.get("minimum") else ""
    return f"[{found['title']}](#terms){limit}"


def _terms() -> str:
    """Return the section on the terms that several records share."""
    document = schemas()[TERMS]
    rows = [(each["title"], _told(TERMS, each, []), each["description"]) for each in document["$defs"].values()]
    return f"## Terms\n\n{document['description']}\n\n" + table(("term", "type", "meaning"), rows)


def _has_section(file: str, schema: Any) -> bool:
    """Return whether a schema has its own section.

    It is a named object, or a named choice between such objects and other names.
    """
    if "title" not in schema or "properties" in schema:
        return "title" in schema
    forms = [_resolved(file, form) for union in UNIONS for form in schema.get(union, [])]
    return any(_has_section(*form) for form in forms) and all("title" in of or of["type"] == "null" for _, of in forms)


def _member(file: str, schema: Any, name: str, inner: list[tuple[str, Any]]) -> tuple[str, str, str, str]:
    """Return the table row of a member."""
    _, found = _resolved(file, schema["properties"][name])
    default = f"no: {code(json.dumps(found['default']))}" if "default" in found else "no"
    required = "yes" if name in schema.get("required", ()) else default
    return code(name), _told(file, schema["properties"][name], inner), required, found["description"]


def _resolved(file: str, part: Any) -> tuple[str, Any]:
    """Return a schema with its references followed, and its file.

    The schema's own members override theirs, except for the title.
    """
    if "$ref" not in part:
        return file, part
    of, target = _resolved(*_referred(file, part))
    return of, {**target, **{key: value for key, value in part.items() if key not in {"$ref", "title"}}}


def _referred(file: str, part: Any) -> tuple[str, Any]:
    """Return the target of a reference, and its file."""
    name, _, pointer = part["$ref"].partition("#")
    target = schemas()[name or file]
    for step in pointer.strip("/").split("/") if pointer else ():
        target = target[step]
    return name or file, target
