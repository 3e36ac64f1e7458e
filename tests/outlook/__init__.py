"""What a policy will cost."""
