"""The addresses of the docs, which messages and alerts name and ``landmark-stream docs`` serves.

They are on the reader's own machine, so they work in an image, behind a proxy and without the internet, and describe
the installed version. Nobody else can put a page there for an operator in a hurry to follow.
"""

from typing import Final

PORT: Final = 9466
"""The default port of ``landmark-stream docs`` on loopback; the audit uses the port before it."""
BASE: Final = f"http://127.0.0.1:{PORT}/"
"""Page paths follow it as in the repository. The alert rules spell it out."""

SERVED: Final = " (`landmark-stream docs` serves it)"


def page_url(page: str) -> str:
    """Return the address of a page below docs/, such as ``operating.md#keys``."""
    return f"{BASE}docs/{page}"


def page_at(page: str) -> str:
    """Return the address of a page and the command that serves it, for use in a sentence."""
    return page_url(page) + SERVED
