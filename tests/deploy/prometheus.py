"""Prometheus and its promtool, from Debian's package."""

import re
import subprocess
from pathlib import Path

import yaml

from tests.deploy.queries import PROMETHEUS
from tests.programs import program

SERIES = re.compile(r"(landmark_[^ ]+) ([^ ]+)")


def promtool_failures(*words: str, folder: Path, stdin: bytes | None = None) -> str:
    """Run promtool; return its objections, or an empty text if there are none."""
    command = [program("promtool"), *words]
    run = subprocess.run(command, input=stdin, cwd=folder, capture_output=True, check=False)
    return "" if run.returncode == 0 else (run.stdout + run.stderr).decode()


def alert_failures(folder: Path, figures: str, alert: str, minutes: int = 40) -> str:
    """Return promtool's complaint if an alert fires while a worker shows constant figures for ``minutes``."""
    series = [
        {"series": found[1], "values": f"{found[2]}x{minutes}"}
        for found in map(SERIES.fullmatch, figures.splitlines())
        if found
    ]
    quiet = {"eval_time": f"{minutes}m", "alertname": alert, "exp_alerts": []}
    tests = [{"interval": "1m", "input_series": series, "alert_rule_test": [quiet]}]
    file = {"rule_files": [str(PROMETHEUS / "rules.yml")], "evaluation_interval": "1m", "tests": tests}
    (folder / "alert.yml").write_text(yaml.safe_dump(file))
    return promtool_failures("test", "rules", "alert.yml", folder=folder)
