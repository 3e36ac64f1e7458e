"""Bytes to records and records to bytes: the JSON of events, releases, ledger entries and rejects."""
