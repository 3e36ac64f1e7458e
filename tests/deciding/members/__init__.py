"""Tests of members: one budget for all series of a person."""
