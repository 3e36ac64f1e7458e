"""Tests of the schemas: their form, and that they say what the program does."""
