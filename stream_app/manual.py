"""How messages name a page of the docs: as a file of the installation, which needs no server and no network.

The installed pages describe the installed version, and nobody else can put a page there for an operator in a hurry.
"""


def page_at(page: str) -> str:
    """Return the location of a page below docs/, such as ``operating.md#keys``, worded to fit in a sentence."""
    return f"docs/{page} (`landmark-stream files docs` prints the path of docs/)"
