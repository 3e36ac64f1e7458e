"""Tests of the worker's deployment and monitoring: the Compose file, the image, Prometheus, Grafana."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
