"""A Kafka cluster in memory, on which simulations run; `tests/contract` compares it with a real broker."""
