"""What benchmarks run on: broker and topics, workloads, the processes that are measured, and clients to compare."""
