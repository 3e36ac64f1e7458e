"""Files as people have them, turned into events: one mapping says where a file holds its times and values."""
