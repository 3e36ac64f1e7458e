"""Bytes to values: the exact form of ledger entries, releases, policies and heads, read apart from the worker."""
