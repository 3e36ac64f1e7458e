"""Rows in memory, behind the protocol of a worker's database."""
