"""The addresses of the docs: what messages, pages and alerts name, and ``landmark-stream docs`` serves.

They lie on the reader's own machine, so that they hold in an image, behind a proxy and without the internet, and tell
of the version that is installed. Nobody else can put a page there for an operator in a hurry to follow.
"""

from typing import Final

PORT: Final = 9466
"""Where ``landmark-stream docs`` listens on loopback unless told otherwise; the audit has the port before it."""
BASE: Final = f"http://127.0.0.1:{PORT}/"
"""Pages follow it as they lie in the repository. The rules of alerts write it out."""

SERVED: Final = " (`landmark-stream docs` serves it)"


def page_url(page: str) -> str:
    """Return the address of a page below docs/, such as ``operating.md#keys``."""
    return f"{BASE}docs/{page}"


def page_at(page: str) -> str:
    """Return the address of a page as a sentence names it: with who answers there."""
    return page_url(page) + SERVED
