"""Represents local times, days, weeks and calendars as integers in milliseconds; uses no clock and no files."""
