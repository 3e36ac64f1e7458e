"""Times as people say them, as integers of milliseconds: local times, days, weeks, calendars; no clock, no files."""
