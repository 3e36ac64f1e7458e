"""Publishes personal time series in real time under landmark privacy."""

__version__ = "0.1.0"
