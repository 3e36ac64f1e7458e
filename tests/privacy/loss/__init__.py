"""Tests of temporal loss and composition."""
