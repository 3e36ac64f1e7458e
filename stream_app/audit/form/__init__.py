"""Bytes to values: the exact form of ledger entries, releases and policies, read apart from the worker's code."""
