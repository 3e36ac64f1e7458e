"""Tests of the local broker's parts."""
