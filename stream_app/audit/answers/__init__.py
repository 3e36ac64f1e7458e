"""Answers for a privacy officer: the guarantee, the budget used, and what to tell a person."""
