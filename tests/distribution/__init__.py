"""Tests of what is shipped: source distribution, wheel, dependencies."""
