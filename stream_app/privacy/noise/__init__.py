"""Keyed randomness and the exact mechanisms that use it."""
