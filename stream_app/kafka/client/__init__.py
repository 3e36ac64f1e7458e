"""Kafka clients outside the worker: connections, topics, producers, readers, groups and permissions."""
