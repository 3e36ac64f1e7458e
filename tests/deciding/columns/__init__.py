"""Batches decided as columns."""
