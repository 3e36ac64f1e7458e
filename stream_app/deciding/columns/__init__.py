"""Processes a batch as columns, many series together, with the same bytes as one-by-one processing."""
