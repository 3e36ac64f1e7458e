"""Metrics, health, status page and logs of a running worker or audit."""
