"""Turns user files into events; a mapping says where a file holds its times and values."""
