"""Writes the dashboards' JSON: `python -m deploy.grafana`."""

import json
from pathlib import Path

from deploy.grafana.dashboard import Dashboard
from deploy.grafana.operation import OPERATION
from deploy.grafana.privacy import PRIVACY

FOLDER = Path(__file__).parent / "dashboards"
DASHBOARDS = (OPERATION, PRIVACY)


def text_of(dashboard: Dashboard) -> str:
    """Return the content of a dashboard's file."""
    return json.dumps(dashboard.document(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for made in DASHBOARDS:
        (FOLDER / f"{made.name}.json").write_text(text_of(made))
