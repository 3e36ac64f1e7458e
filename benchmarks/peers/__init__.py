"""The peers: other programs that answer the same events with the same number and size of records, exactly once."""
