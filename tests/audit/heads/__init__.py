"""Tests of signed heads."""
