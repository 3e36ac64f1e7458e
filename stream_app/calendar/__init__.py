"""Local times, days, weeks and calendars as integers of milliseconds; no clock, no files."""
