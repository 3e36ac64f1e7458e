"""Rows in memory, with the same protocol as a worker's database."""
