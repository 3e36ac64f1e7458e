"""Which unit, window and epsilon make a statistic accurate enough: by arithmetic, and beside data if there are any."""
