"""The share proposed by a scheme, as the audit computes it."""

import pytest

from stream_app.audit.books.share import share_of


def test_an_unknown_scheme_has_no_share() -> None:
    """A scheme that the audit does not know is never audited as another one."""
    with pytest.raises(ValueError, match="'alternate'"):
        share_of("alternate", 10**9, 500_000)
