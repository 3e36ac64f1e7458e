"""The benchmarks: ratios of one run on one machine; client and broker run on cores of their own. `make bench`."""
