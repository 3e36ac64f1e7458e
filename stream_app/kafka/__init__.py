"""The worker around the decisions: partitions, what they ask of Kafka and Faust, and how lost state is rebuilt."""
