"""Views: several statistics of one stream of readings, each a series beside the one that it is a view of."""
