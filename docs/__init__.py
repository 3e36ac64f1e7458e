"""The documentation pages, and the code that generates the reference pages."""
