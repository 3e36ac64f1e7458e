"""Tests of what deploys the worker and watches it: the compose file, the image, Prometheus, Grafana."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
