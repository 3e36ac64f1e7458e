"""Commands that send, read or process records."""
