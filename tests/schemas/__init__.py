"""Tests of the schemas: their form, and that they match the program."""
