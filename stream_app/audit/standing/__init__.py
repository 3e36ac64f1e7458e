"""What was promised to a series or a member, what of it was used, what is held back and what is left."""
