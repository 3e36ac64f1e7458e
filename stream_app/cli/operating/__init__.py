"""Commands that install, run and mend the system: topics, workers, keys, configuration."""
