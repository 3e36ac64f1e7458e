"""Offline recovery: rebuilds the state from ledger and releases, and simulates a worker's start."""
