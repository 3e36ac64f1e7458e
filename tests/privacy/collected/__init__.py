"""Tests of `stream_app/privacy/collected`: the law of intrusions."""
