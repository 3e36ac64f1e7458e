"""Tests of the room `api`: the library."""
