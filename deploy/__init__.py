"""Files that deploy the worker and monitor it."""
