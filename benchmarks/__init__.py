"""The benchmark: ratios of one run on one machine, client and broker on cores of their own."""
