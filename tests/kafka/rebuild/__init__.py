"""Tests of `stream_app/kafka/rebuild`: rows from ledger and releases, without a worker."""
