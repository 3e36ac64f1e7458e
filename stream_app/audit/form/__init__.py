"""Parses entries, releases, policies and heads in their exact form, independently of the worker."""
