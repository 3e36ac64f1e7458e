"""Tests of the test suite's own tools."""
