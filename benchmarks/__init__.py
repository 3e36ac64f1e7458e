"""The benchmarks: ratios within one run on one machine, with separate cores for client and broker.

`make bench` runs them.
"""
