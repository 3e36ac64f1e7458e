"""Views of a series, decided with it."""
