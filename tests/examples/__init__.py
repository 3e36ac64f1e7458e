"""The examples for producers and consumers, run against a real broker and what a real worker published."""
