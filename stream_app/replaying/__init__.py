"""Processes events without Kafka, as a worker would, into a folder of releases, ledger and rejects."""
