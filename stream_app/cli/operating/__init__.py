"""Commands that install, run and repair the system: topics, workers, keys, configuration."""
