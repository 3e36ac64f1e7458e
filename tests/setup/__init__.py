"""Tests of `stream_app/setup`: settings, configuration and key files."""
