"""Tests of the form of policies and entries."""
