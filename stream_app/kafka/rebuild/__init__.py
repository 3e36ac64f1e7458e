"""Offline recovery: the state rebuilt from ledger and releases, and a dry run of a start."""
