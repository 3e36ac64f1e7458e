"""A fleet whose requests are lost, held or delivered late, on one broker and on three."""
