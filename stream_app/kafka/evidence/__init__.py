"""What rows and logs show about a partition's past, and why it may not continue."""
