"""Commands that send, read or decide records."""
