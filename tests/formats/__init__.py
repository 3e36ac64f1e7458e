"""Tests of `stream_app/formats`: bytes to records, records to bytes."""
