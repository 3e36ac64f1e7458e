"""Partitions whose rows are all in memory, with the same protocol as a worker's database."""
