"""Tests of `stream_app/words`: amounts and promises in plain words."""
