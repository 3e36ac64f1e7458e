"""Processes a batch as columns, many series together; the resulting bytes equal those of one-by-one processing."""
