"""Tests of the shipped files: source distribution, wheel, dependencies."""
