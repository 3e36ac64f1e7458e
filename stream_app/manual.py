"""How messages refer to a page of the docs: by the path of an installed file, which needs no server or network.

The installed pages describe the installed version, and nobody else can plant a page there for a hurried operator to
find.
"""


def page_at(page: str) -> str:
    """Return the location of a page below docs/, such as ``operating.md#keys``, worded to fit in a sentence."""
    return f"docs/{page} (`landmark-stream files docs` prints the path of docs/)"
