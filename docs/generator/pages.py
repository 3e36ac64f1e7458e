"""All pages under docs/reference."""

from docs.generator import (
    commands,
    exit_codes,
    findings,
    life,
    metrics,
    mistakes,
    records,
    rejects,
    rooms,
    settings,
    stops,
    topics,
)
from tests.deploy import ROOT

FOLDER = ROOT / "docs" / "reference"
PAGES = {
    "commands.md": commands.page,
    "exit-codes.md": exit_codes.page,
    "findings.md": findings.page,
    "metrics.md": metrics.page,
    "mistakes.md": mistakes.page,
    "partition-life.md": life.page,
    "records.md": records.page,
    "rejects.md": rejects.page,
    "rooms.md": rooms.page,
    "settings.md": settings.page,
    "stops.md": stops.page,
    "topics.md": topics.page,
}
"""Every page, by the name of its file."""


def write() -> None:
    """Write every page anew."""
    FOLDER.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page())
