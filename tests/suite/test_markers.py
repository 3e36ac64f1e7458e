"""What a test uses is found however indirectly it is named, and nothing else is found."""

import subprocess
from pathlib import Path
from types import FunctionType

import pytest
from hypothesis import settings

from stream_app.localbroker.broker import LocalBroker
from tests import programs
from tests.suite import markers
from tests.suite.speeds import AMOUNTS, EXPRESSIONS


class Site:
    """A helper, as tests have them."""

    def begin(self, folder: Path) -> LocalBroker:
        """Start a broker."""
        return LocalBroker.start(folder)


def starts(folder: Path) -> None:
    """Start a broker in an inner function."""

    def inner() -> None:
        """Start it."""
        Site().begin(folder)

    inner()


def runs() -> None:
    """Run a program by a module's name."""
    subprocess.run([programs.program("jq")], check=True)


def names(broker: LocalBroker) -> str:
    """Name a broker only as a type."""
    return str(broker)


@pytest.mark.parametrize(("function", "found"), [(starts, {"broker"}), (runs, {"program", "process"}), (names, set())])
def test_what_is_named_is_found(function: FunctionType, found: set[str]) -> None:
    """This works through methods, inner functions and our modules; an annotation starts nothing."""
    assert markers.reached(function) == found


def test_this_test_has_no_broker(request: pytest.FixtureRequest) -> None:
    """Its file names a broker, but the test does not."""
    assert {mark.name for mark in request.node.iter_markers()} == set()


def test_what_test_leaves_out_long_has() -> None:
    """Every test belongs to `make test` or to `make long`, and quick is a part of test."""
    assert EXPRESSIONS["test"] == "not long"
    assert EXPRESSIONS["quick"].endswith(EXPRESSIONS["test"])
    assert EXPRESSIONS["long"].split(" or ")[0] == "long"
    assert all(quick <= test <= long for quick, test, long, _ in AMOUNTS.values())


def test_no_draw_is_timed(request: pytest.FixtureRequest) -> None:
    """With Hypothesis' own deadline, ten draws of one second in total fail too: its limit is five deadlines."""
    assert settings().deadline is None
    drawn = (getattr(item, "obj", None) for item in request.session.items)
    timed = [test for test in drawn if (of := getattr(test, "_hypothesis_internal_use_settings", None)) and of.deadline]
    assert not timed, "settings that were made before tests/conftest.py chose them"
