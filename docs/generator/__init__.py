"""The pages under docs/reference, written from the code: ``make reference`` writes them, a test compares.

One module a page, each with ``page() -> str``.
"""
