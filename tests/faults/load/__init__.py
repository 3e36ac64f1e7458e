"""A fleet of workers under a steady load, while workers join, leave, die and are replaced."""
