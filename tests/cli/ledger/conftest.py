"""Fixtures shared by the tests of ``left``."""

from pathlib import Path

import pytest

from tests.cli.ledger.test_left import Site


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """An empty folder."""
    return Site(tmp_path)
