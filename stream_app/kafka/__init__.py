"""The Faust shell: everything that talks to Kafka, and nothing that decides about privacy."""
