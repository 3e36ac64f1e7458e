"""Events decided without Kafka, into a folder of releases, ledger and rejects, as a worker would decide them."""
