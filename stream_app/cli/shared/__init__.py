"""Code shared by commands: options, settings, files of records and policies, progress bars."""
