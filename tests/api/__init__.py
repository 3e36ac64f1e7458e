"""Tests of `api`: the library."""
