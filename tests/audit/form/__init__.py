"""Tests of the forms of policies and entries."""
