"""Tests of stream_app.accounting."""
