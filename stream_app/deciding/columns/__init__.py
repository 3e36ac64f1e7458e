"""A batch processed as columns: many series together, with the same bytes as one by one."""
