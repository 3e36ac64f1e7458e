"""``python -m tests.reference`` writes the pages under docs/reference."""

from tests.reference.pages import write

write()
