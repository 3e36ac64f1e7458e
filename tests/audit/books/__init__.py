"""Tests of the arithmetic of a policy's period."""
