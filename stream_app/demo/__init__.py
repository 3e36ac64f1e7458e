"""The demo: the whole system on a local Kafka with real data, for the person who tries it on their own machine."""
