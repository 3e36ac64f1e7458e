"""Evidence of a partition's past, from rows and logs, and the reasons why it may not continue."""
