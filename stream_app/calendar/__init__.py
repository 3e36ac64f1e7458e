"""Local times, days, weeks and calendars as integers of milliseconds; uses no clock and no files."""
