"""The life of one input partition: it is taken over, restored, processed in batches and released."""
