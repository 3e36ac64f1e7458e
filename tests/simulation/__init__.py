"""Whole lives of several workers in virtual time, with one schedule of faults per seed."""
