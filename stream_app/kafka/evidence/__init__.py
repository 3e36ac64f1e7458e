"""What rows and logs tell of a partition's past, and why it may not go on."""
