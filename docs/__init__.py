"""The pages of the docs, and what generates those of the reference."""
