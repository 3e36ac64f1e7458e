"""Shared code of commands: options, settings, files of records and policies, progress bars."""
