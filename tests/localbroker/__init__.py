"""Tests of `stream_app/localbroker`: a broker for newcomers and tests."""
