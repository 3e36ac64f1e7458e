"""The examples for producers and consumers, run against a real broker and the releases of a real worker."""
