"""The life of one input partition: taken over, restored, decided batch by batch, committed, let go."""
