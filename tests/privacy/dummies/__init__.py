"""Dummy landmarks."""
