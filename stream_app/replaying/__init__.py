"""Events processed without Kafka into a folder of releases, ledger and rejects, as by a worker."""
