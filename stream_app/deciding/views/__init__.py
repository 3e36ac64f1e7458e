"""Views: several statistics of one stream of readings, each published as a separate series."""
