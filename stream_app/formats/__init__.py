"""Bytes to records and records to bytes: the JSON of the data path."""
