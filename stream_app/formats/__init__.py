"""Convert records to and from bytes: JSON of events, releases, ledger entries and rejected records."""
