"""Plans of statistics of units."""
