"""The contract between the cluster in memory and a real broker: one suite, run on both."""
