"""A test that uses a broker or starts processes has a second try, including fixtures; a pure test has none."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from stream_app.localbroker.broker import LocalBroker
from tests.deploy import ROOT
from tests.kafka.installation import Installation, readings
from tests.suite.secondtry import ALLOWED
from tests.suite.test_sharedbroker import outside

SUITE = """
from pathlib import Path
import pytest

@pytest.fixture(scope="module")
def made():
    count = Path("made")
    count.write_text(count.read_text() + "+" if count.exists() else "+")
    yield count.read_text()

def fails_once(name):
    seen = Path(name)
    first = not seen.exists()
    seen.touch()
    assert not first, "the first try"

@pytest.mark.process
def test_before(made):
    pass

@pytest.mark.parametrize("number", range({count}))
@pytest.mark.{marker}
def test_once(made, number):
    fails_once(f"once-{{number}}")

@pytest.mark.process
def test_after(made):
    assert made == "+" * (1 + {count})
"""


@pytest.mark.parametrize(
    ("marker", "count", "code", "last"),
    [
        ("process", ALLOWED, 0, f"{2 + ALLOWED} passed, {ALLOWED} rerun"),
        ("process", ALLOWED + 1, 1, f"{3 + ALLOWED} passed, {ALLOWED + 1} rerun"),
        ("slow", 1, 1, "1 failed, 1 passed"),
    ],
)
def test_a_second_try(tmp_path: Path, marker: str, count: int, code: int, last: str) -> None:
    """Fixtures are created again for it, its name is reported, and a run with too many of them fails."""
    (tmp_path / "test_suite.py").write_text(SUITE.format(marker=marker, count=count))
    words = "-p tests.conftest -p no:cacheprovider -c /dev/null --numprocesses 1 --rootdir ."
    tests = "test_suite.py" if marker == "process" else "test_suite.py::test_before test_suite.py::test_once"
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *words.split(), *tests.split()],
        cwd=tmp_path,
        env=outside() | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == code, run.stdout + run.stderr
    assert last in re.sub(r" \d+ warnings?,", "", run.stdout.splitlines()[-1])  # this run knows no markers
    again = [line for line in run.stdout.splitlines() if line.startswith("AGAIN")]
    told = range(count if marker == "process" else 0)
    assert again == [f"AGAIN test_suite.py::test_once[{number}]" for number in told]


def test_a_second_try_has_topics_of_its_own(broker: LocalBroker, tmp_path: Path) -> None:
    """With the topics of the first try, and another key, its workers would stop whatever had failed before."""
    first, second = (Installation(broker, tmp_path / name, "second-try") for name in ("first", "second"))
    assert first.send(readings(10)) == 10
    assert second.read(second.names.events) == []
    assert Installation(broker, first.folder, first.name).names == first.names
