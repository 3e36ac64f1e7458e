"""Offline recovery: rebuilds the state from the ledger and releases, and simulates a worker's start."""
