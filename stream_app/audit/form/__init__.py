"""Bytes to values: the exact form of entries, releases, policies and heads, separate from the worker."""
