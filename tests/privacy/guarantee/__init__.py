"""Tests of the guarantee: over all short traces, and over long logs through the real decision."""
