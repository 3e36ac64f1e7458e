"""A batch decided as columns: the events of many series together, with the bytes that one by one would give."""
