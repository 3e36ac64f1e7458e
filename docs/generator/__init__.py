"""The pages under docs/reference: ``make reference`` writes them from the code, and a test compares them.

There is one module per page, each with ``page() -> str``.
"""
