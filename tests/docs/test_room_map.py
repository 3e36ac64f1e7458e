"""The architecture page names no file that is gone."""

import re

from tests.deploy import ROOT

PACKAGE = ROOT / "stream_app"
PAGE = (ROOT / "docs" / "architecture.md").read_text()


def test_nothing_that_the_page_names_is_gone() -> None:
    """Each folder that the text names exists, and so does each file named with its folder."""
    files = set(re.findall(r"(?<![\w/])(?:[a-z_]+/)+[a-z_]+\.py", PAGE))
    assert len(files) > 10
    assert [file for file in files if not any(PACKAGE.glob(f"**/{file}")) and not (ROOT / file).exists()] == []
    folders = re.findall(r"`([a-z_]+)/`", PAGE)
    assert [name for name in folders if not any(PACKAGE.glob(f"**/{name}")) and not any(ROOT.glob(f"**/{name}"))] == []
