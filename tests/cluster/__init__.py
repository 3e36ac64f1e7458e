"""A Kafka cluster in memory: the twin that simulations run on, held to a real broker by `tests/contract`."""
