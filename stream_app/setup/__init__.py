"""What the operator gives: settings, configuration, correlations and keys."""
