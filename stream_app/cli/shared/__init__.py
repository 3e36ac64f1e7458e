"""What several commands need: options, settings, files of records and policies, progress bars."""
