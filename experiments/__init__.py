"""The experiments of the source papers: error, temporal loss and cost of schemes, on real data.

Whoever evaluates holds raw values: errors depend on them, under no guarantee. They are for the publisher's eyes.
"""
