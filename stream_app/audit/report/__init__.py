"""The output of an audit: the report as text, JSON and HTML, and its plots."""
