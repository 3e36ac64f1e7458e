"""A fleet of workers under a steady load, while workers come, go, die and are replaced."""
