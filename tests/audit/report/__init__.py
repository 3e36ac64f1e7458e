"""Tests of the report, its page and its figures."""
