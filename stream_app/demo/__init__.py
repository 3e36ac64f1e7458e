"""The demo: the whole system on a local Kafka with real data, to try on one's own machine."""
