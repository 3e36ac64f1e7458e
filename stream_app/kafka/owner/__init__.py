"""The life of one input partition: the owner takes it over, restores it, processes it and releases it."""
