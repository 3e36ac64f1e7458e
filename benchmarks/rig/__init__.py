"""The equipment of benchmarks: broker, topics, workloads, measured processes, and clients to compare with."""
