"""Turns one input record into its decision, without side effects."""
