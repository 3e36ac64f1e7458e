"""User files, turned into events: a mapping says where a file holds its times and values."""
