"""The worker that runs the decisions: its partitions, its use of Kafka and Faust, and state recovery."""
