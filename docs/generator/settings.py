"""The page of settings."""

from collections.abc import Mapping
from typing import Any

from docs.generator.markdown import code, pages_top, sentence, table
from docs.generator.schema import domain
from stream_app.setup.settings import PREFIX, Settings

UNITS = {
    "_ms": "ms",
    "_bytes": "bytes",
    "_records": "records",
    "_epsilon": "epsilon",
    "_alarm": "epsilon",
    "_series": "series",
    "partitions": "partitions",
    "_replicas": "workers",
}
"""Units by name ending; the other settings have none."""

TOP = f"""\
They stand in one TOML file, `landmark-stream.toml` in the working folder or `--config FILE`. The environment goes over
it: a variable's name is `{PREFIX}` and the setting's name in capital letters; tables and lists are JSON there.
`landmark-stream check` prints what is in force, and every error of both at once. An example stands in
[Operating](../operating.md#configuration).

"""


def page() -> str:
    """Return the page: a row for each setting, in the order of the code."""
    fields: Mapping[str, Any] = Settings.model_json_schema()["properties"]
    rows = [
        (
            f"{code(name)}<br>{code(PREFIX + name.upper())}",
            domain(field).removesuffix(" or `null`"),
            next((unit for end, unit in UNITS.items() if name.endswith(end)), ""),
            _default(field.get("default", {})),
            sentence(field["description"]),
        )
        for name, field in fields.items()
    ]
    return (
        pages_top("Settings", "stream_app/setup/settings.py")
        + TOP
        + table(("name, variable", "type", "unit", "default", "meaning"), rows)
    )


def _default(value: Any) -> str:
    match value:
        case None:
            return "unset"
        case [] | {}:
            return "none"
        case bool():
            return code(str(value).lower())
        case _:
            return code(value)
