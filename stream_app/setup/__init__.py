"""The operator's input: configuration, correlations and keys."""
