"""Keyed randomness and the exact mechanisms that draw from it."""
