"""Kafka without a worker: connections, topics, producers, readers, groups and rights."""
