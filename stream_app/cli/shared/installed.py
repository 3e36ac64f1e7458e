"""Where an installation has what other programs read: schemas, examples, dashboards, rules and docs."""

from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import stream_app
from stream_app.cli import UsageError

IN_A_CHECKOUT = {
    "schemas": "schemas",
    "examples": "examples",
    "grafana": "deploy/grafana/dashboards",
    "prometheus": "deploy/prometheus",
    "docs": "docs",
}
"""The folders by their names below share/landmark-stream, where a wheel puts them (pyproject.toml)."""


def folder_of(name: str) -> Path:
    """Return where one of them is; raises `UsageError` where an installation was made without it."""
    checkout = Path(stream_app.__file__).parents[1] / IN_A_CHECKOUT[name]
    if checkout.is_dir():
        return checkout
    try:
        installed = files("landmark-stream") or ()
    except PackageNotFoundError:
        installed = ()
    found = (
        Path(file.locate()).resolve().parent for file in installed if file.parts[-3:-1] == ("landmark-stream", name)
    )
    folder = next(found, None)
    if folder is None or not folder.is_dir():
        raise UsageError(f"{name}: not in this installation; install the wheel, or take a checkout")
    return folder
