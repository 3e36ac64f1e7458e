"""Evidence from rows and logs of a partition's past, and why it may not continue."""
