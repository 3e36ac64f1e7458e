"""Processes a batch as columns, many series together; the bytes equal those from one-by-one processing."""
