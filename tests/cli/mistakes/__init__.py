"""Mistakes: what people do wrong, and word for word what they are told; docs/reference/mistakes.md shows the tables."""
