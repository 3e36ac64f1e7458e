"""Tests of the Kafka shell, against a real broker."""
