"""Tests of `stream_app/privacy/noise`: noise against exact fractions and scipy."""
