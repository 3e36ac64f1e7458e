"""Convert records to and from bytes: events, releases, ledger entries and rejected records, as JSON."""
