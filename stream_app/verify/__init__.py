"""Audit of the noise from the inside: the real decisions, run on neighbours, show how much they tell at least."""
