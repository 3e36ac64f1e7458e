"""What deploys the worker and watches it."""
