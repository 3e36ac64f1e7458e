"""Turns one input record into its decision; pure."""
