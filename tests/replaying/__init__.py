"""Tests of `replay` without its command."""
