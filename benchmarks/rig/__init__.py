"""What benchmarks run on: broker, topics, workloads, measured processes, and clients to compare."""
