"""Tests of the Kafka shell, run on a real broker."""
