"""Tests: one folder a room of the package, plus whole-system ones."""
