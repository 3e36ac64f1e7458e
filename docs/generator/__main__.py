"""``python -m docs.generator`` writes the pages under docs/reference."""

from docs.generator.pages import write

write()
