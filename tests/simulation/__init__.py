"""Whole lives of several workers in virtual time, one schedule of faults a seed."""
