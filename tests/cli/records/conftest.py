"""What tests of records share."""

from pathlib import Path

import pytest

from tests.cli.records.test_replayfolder import Site
from tests.command import Cli


@pytest.fixture
def site(tmp_path: Path, cli: Cli) -> Site:
    """Return an empty folder."""
    return Site(tmp_path, cli)
