"""Tests of `stream_app/privacy/kinds`: every kind of value, and the time taken by its noise."""
