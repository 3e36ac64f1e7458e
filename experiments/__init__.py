"""The experiments of the source papers: error, temporal loss and cost of schemes, on real data.

Anyone who evaluates has the raw values. Errors depend on them, without any guarantee, and are only for the publisher.
"""
