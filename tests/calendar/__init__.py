"""Tests of `stream_app/calendar`: times as people write them."""
