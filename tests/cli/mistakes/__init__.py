"""User mistakes and the exact messages for them; docs/reference/mistakes.md shows the tables."""
