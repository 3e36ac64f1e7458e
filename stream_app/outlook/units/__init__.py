"""Which unit, window and epsilon make a statistic accurate enough, by arithmetic or with data."""
