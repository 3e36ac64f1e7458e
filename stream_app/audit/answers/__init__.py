"""Answers for a privacy officer: what is guaranteed, how much is used, and what to tell a person."""
