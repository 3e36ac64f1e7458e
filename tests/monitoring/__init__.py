"""Tests of `stream_app/monitoring`: metrics, logs, health, the status page."""
