"""The type check keeps raw and released values apart: a mix-up does not pass `mypy --strict`."""

from pathlib import Path

import pytest
from mypy import api

ROOT = Path(__file__).parents[2]
HEAD = """
from stream_app.privacy import fold
from stream_app.privacy.kinds import Kind
from stream_app.privacy.level import measured
from stream_app.privacy.policy import Policy
from stream_app.privacy.noise.randomness import BitStream
from stream_app.privacy.values import Raw, RawCells, ReleasedCells
from stream_app.privacy.state import Latest, State
"""
MIX_UPS = {
    "a raw value is published": "def f(kind: Kind, raw: Raw) -> object: return kind.publish(raw)",
    "raw cells are published": "def f(kind: Kind, cells: RawCells) -> object: return kind.publish(cells)",
    "raw cells are clamped as an estimate": "def f(kind: Kind, cells: RawCells) -> object: return kind.clamp(cells)",
    "raw cells are filtered": "def f(k: Kind, cells: RawCells) -> object: return measured(k, (), cells, 1, 0)",
    "raw cells are compared": "def f(k: Kind, cells: RawCells, r: ReleasedCells) -> bool: return k.still(r, cells, 1)",
    "raw cells are kept": (
        "def f(cells: RawCells, r: ReleasedCells) -> Latest:"
        " return Latest(source_ms=0, measurement=cells, estimate=r, rate_nano=0, level=())"
    ),
    "parts of a state are swapped": (
        "def f(s: State) -> State: return State(s.guard, s.promise, s.latest, s.clock, closed=False)"
    ),
    "raw cells are a measurement": (
        "def f(p: Policy, s: State, cells: RawCells) -> object:"
        " return fold.advance(p, s, 0, (True, 0), s.guard, cells, 1)"
    ),
    "a release is perturbed": (
        "def f(kind: Kind, stream: BitStream, r: ReleasedCells) -> object: return kind.perturb(stream, r, 1)"
    ),
}
RIGHT = """
def right(kind: Kind, stream: BitStream, raw: Raw) -> object:
    cells = kind.quantise(raw)
    if cells is None:
        return None
    measurement: ReleasedCells = kind.perturb(stream, cells, 1)
    return kind.publish(kind.clamp(measured(kind, (), measurement, 1, 0)[1]))
"""


@pytest.fixture(scope="module")
def errors(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return mypy's messages for a file of all mix-ups, one per function, with one right use at the end."""
    lines = [line.replace("def f(", f"def f{nth}(", 1) for nth, line in enumerate(MIX_UPS.values())]
    path = tmp_path_factory.mktemp("types") / "mix_ups.py"
    path.write_text(HEAD + "\n".join(lines) + RIGHT)
    arguments = ["--strict", "--config-file", str(ROOT / "pyproject.toml"), "--no-error-summary", str(path)]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.setenv("MYPYPATH", str(ROOT))
        said, trouble, _ = api.run(arguments)
    assert not trouble
    return [line for line in said.splitlines() if "error:" in line]


@pytest.mark.parametrize("name", list(MIX_UPS))
def test_a_mix_up_is_an_error(errors: list[str], name: str) -> None:
    """A raw value used as a released one, or a release as a raw value, is refused for its type."""
    line = HEAD.count("\n") + 1 + list(MIX_UPS).index(name)
    found = [error for error in errors if f"mix_ups.py:{line}: " in error]
    assert any("[arg-type]" in error for error in found), errors


def test_right_use_is_none(errors: list[str]) -> None:
    """Quantise, perturb, filter, clamp, publish in that order passes, so the errors are only those of mix-ups."""
    last = HEAD.count("\n") + len(MIX_UPS)
    assert all(int(error.split(":")[1]) <= last for error in errors)
    assert len(errors) >= len(MIX_UPS)
