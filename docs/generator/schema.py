"""What a JSON Schema allows, in a few words."""

import json
from typing import Any

from docs.generator.markdown import code

_FORMATS = {"path": "path", "password": "text, shown nowhere"}
_LONG = 40
"""Patterns longer than this are shown only in the schema."""


def domain(schema: Any) -> str:
    """Return the type of a value and its limits, as Markdown; references must be resolved."""
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return " or ".join(dict.fromkeys(domain(each) for each in schema[union]))
    if "const" in schema:
        return code(json.dumps(schema["const"]))
    if "enum" in schema:
        return ", ".join(code(json.dumps(each)) for each in schema["enum"])
    kinds = schema.get("type", [])
    return " or ".join(_domain(kind, schema) for kind in ([kinds] if isinstance(kinds, str) else kinds)) or "any"


def _domain(kind: str, schema: Any) -> str:
    match kind:
        case "integer" | "number":
            return ", ".join(filter(None, (kind, _range(schema))))
        case "string" if "format" in schema:
            return _FORMATS[schema["format"]]
        case "string":
            return ", ".join(filter(None, ("text", _length(schema), _pattern(schema))))
        case "boolean":
            return "`true` or `false`"
        case "array":
            return _list(schema)
        case "object":
            return "object"
        case _:
            return code(kind)


def _range(schema: Any) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    parts = []
    if "exclusiveMinimum" in schema:
        parts.append(f"above {_number(schema['exclusiveMinimum'])}")
    if "exclusiveMaximum" in schema:
        parts.append(f"below {_number(schema['exclusiveMaximum'])}")
    if least is not None and most is not None:
        parts.append(_number(least) if least == most else f"{_number(least)} to {_number(most)}")
    elif least is not None:
        parts.append(f"{_number(least)} or more")
    elif most is not None:
        parts.append(f"{_number(most)} or less")
    return ", ".join(parts)


def _number(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:,.10g}".replace("e-0", "e-")


def _length(schema: Any) -> str:
    least, most = schema.get("minLength"), schema.get("maxLength")
    if least is not None and least == most:
        return f"{least} characters"
    if most is not None:
        return f"{least or 0} to {most} characters" if least else f"at most {most} characters"
    return "" if least is None else "not empty"


def _pattern(schema: Any) -> str:
    pattern = schema.get("pattern")
    return f"as {code(pattern)}" if pattern is not None and len(pattern) <= _LONG else ""


def _list(schema: Any) -> str:
    if schema.get("maxItems") == 0:
        return "empty list"
    if "prefixItems" in schema:
        return f"list [{', '.join(domain(each) for each in schema['prefixItems'])}]"
    least, most = schema.get("minItems", 0), schema.get("maxItems")
    sizes = f" of {least:,} to {most:,}" if most is not None else f" of {least} or more" if least else ""
    inner = schema.get("items")
    return f"list{sizes}" if inner is None else f"list{sizes}, each {domain(inner)}"
