"""Explains why a step was published, repeated or suppressed, with figures, formulas and a text."""
