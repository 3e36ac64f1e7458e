"""The demo: the whole system on a local Kafka with real data, for users to try on their own machine."""
