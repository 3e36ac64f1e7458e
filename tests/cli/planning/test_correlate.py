"""``correlate``: from a file of events, or from a strength, to a correlation file."""

import json
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_app.cli import main
from stream_app.loss.correlation import Correlation
from stream_app.setup import correlationfile
from tests.run import observation, policy

WARNING = "statistics of the values in the file"
MEMBERS = {"backward", "forward", "origin", "strength"}
MEASURES = {"distance", "most_carried", "unbounded_from", "carried_of_one"}


def data(folder: Path, values: list[Any], *, step: int = 1000) -> Path:
    """Write observations of one series at neighbouring steps, after a policy that does not matter."""
    path = folder / "events.jsonl"
    records = [policy("a"), *(observation("a", nth * step, value) for nth, value in enumerate(values))]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def made(capsys: pytest.CaptureFixture[str], *words: str | Path) -> dict[str, Any]:
    """Return the correlation file that the command prints."""
    assert main(["correlate", *map(str, words), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found.keys() == MEMBERS
    assert found["strength"]["backward"].keys() == found["strength"]["forward"].keys() == MEASURES
    return found


def test_categories(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Three transitions from ill (two stay, one leaves), one from well; counted by hand."""
    path = data(tmp_path, ["ill", "ill", "ill", "well", "ill"])
    found = made(capsys, path)
    assert found["forward"] == [[2 / 3, 1 / 3], [1, 0]]
    assert found["backward"] == [[2 / 3, 1 / 3], [1, 0]]
    assert found["origin"] == {
        "from": "data",
        "states": 2,
        "by": "categories",
        "step": None,
        "smoothing": 0.0,
        "series": 1,
        "values": 5,
        "transitions": 4,
        "left_out": 0,
    }


def test_it_warns_and_a_strength_does_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error, whatever the output; the help says so too."""
    path = data(tmp_path, [True, False, True])
    for words in ([], ["--json"]):
        assert main(["correlate", str(path), *words]) == 0
        assert WARNING in capsys.readouterr().err
        assert main(["correlate", "--strength", "0.5", *words]) == 0
        assert not capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["correlate", "--help"])
    assert "itself sensitive" in capsys.readouterr().out


def test_strength_is_the_parametric_family(capsys: pytest.CaptureFixture[str]) -> None:
    """Every digit of it, and how strong it is."""
    found = made(capsys, "--strength", "0.25", "--states", "4")
    wanted = Correlation.of_strength(4, 0.25)
    assert wanted.forward is not None
    assert found["forward"] == found["backward"] == wanted.forward.rows.tolist()
    assert found["origin"] == {"from": "strength", "states": 4, "strength": 0.25}
    assert found["strength"]["forward"]["distance"] == pytest.approx(0.25)


def test_kinds_of_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Numbers by quantiles or a grid, locations by cells, counts by one key; other values are left out and counted."""
    numbers = [0.0, 1.0, 100.0, 1.0, 0.0, 100.0, 1.0, "broken", None]
    path = data(tmp_path, numbers)
    by_quantiles = made(capsys, path, "--states", "3")
    assert (by_quantiles["origin"]["states"], by_quantiles["origin"]["left_out"]) == (3, 2)
    by_grid = made(capsys, path, "--states", "3", "--by", "grid")
    assert by_grid["origin"]["states"] == 2
    assert (
        made(capsys, data(tmp_path, [{"walk": n, "ride": 0} for n in (1, 5, 5)]), "--key", "walk")["origin"]["values"]
        == 3
    )
    places = [{"latitude": -10.9 + n * 0.01, "longitude": -37.0} for n in (0, 0, 1, 0, 5)]
    found = made(capsys, data(tmp_path, places), "--cell", "500")
    assert (found["origin"]["by"], found["origin"]["states"]) == ("cells", 3)
    assert made(capsys, data(tmp_path, places), "--cell", "1e6")["origin"]["states"] == 1


def test_only_neighbouring_steps_count_with_a_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two seconds apart: neighbours in the file, not at steps of one second."""
    path = data(tmp_path, ["a", "b", "a"], step=2000)
    assert made(capsys, path)["origin"]["transitions"] == 2
    assert made(capsys, path, "--step", "2000")["origin"]["transitions"] == 2
    assert main(["correlate", str(path), "--step", "1000"]) == 2
    assert "transitions: found none" in capsys.readouterr().err


def test_csv_and_smoothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The mapping is that of `replay`; smoothing takes away what only looks certain."""
    path = tmp_path / "events.csv"
    path.write_text("t,v\n" + "".join(f"{n},{n % 2}\n" for n in range(9)))
    mapping = ["--series", "a", "--timestamp-column", "t", "--value-columns", "v"]
    found = made(capsys, path, *mapping, "--states", "2", "--smoothing", "0.5")
    assert found["forward"] == [[0.25, 0.75], [0.75, 0.25]]
    assert made(capsys, path, *mapping, "--states", "2")["strength"]["forward"]["unbounded_from"] == 0


def test_the_file_is_private_and_reads_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Mode 0600, also over an open one; `load` finds the matrices that were printed, to the last digit."""
    generator = np.random.default_rng(5)
    path, out = data(tmp_path, generator.normal(size=500).cumsum().tolist()), tmp_path / "household.json"
    out.touch(mode=0o644)
    found = made(capsys, path, "--states", "7", "--out", out)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert json.loads(out.read_text()) == found
    correlation = correlationfile.load(out)
    assert correlation.forward is not None
    assert correlation.forward.rows == pytest.approx(np.array(found["forward"]), rel=1e-15)
    assert main(["loss", str(_question(tmp_path, found))]) == 0


def test_no_value_stands_in_report_or_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither categories nor series, bounds or keys: the loss needs none of them."""
    path = data(tmp_path, ["secret-clinic", "home", "secret-clinic", "home"])
    assert main(["correlate", str(path)]) == 0
    assert main(["correlate", str(path), "--json"]) == 0
    said = capsys.readouterr()
    assert "secret" not in said.out + said.err


@pytest.mark.parametrize(
    ("values", "words", "found"),
    [
        (None, [], "--strength"),
        (["a", "b"], ["--strength", "1"], "--strength"),
        (None, ["--strength", "1.5"], "strength: found 1.5"),
        (None, ["--strength", "nan"], "strength: found nan"),
        (None, ["--strength", "1", "--states", "1"], "states: found 1"),
        (None, ["--strength", "1", "--states", "1001"], "1001 states"),
        (None, ["--strength", ".5", "--states", "100000000"], "100000000 states"),
        (None, ["--strength", ".5", "--states", "1" + "0" * 30], "0 states"),
        (None, ["--strength", ".5", "--smoothing", "nan"], "--smoothing: found nan"),
        (None, ["--strength", ".5", "--key", "walk"], "--key: found walk"),
        (None, ["--strength", ".5", "--by", "grid"], "--by: found grid"),
        ([1, 2], ["--states", "1" + "0" * 30], "--states: found 1000"),
        ([1, 2], ["--by", "grid", "--states", "1000000000000"], "--states: found 1000"),
        ([1, 2], ["--step", "1" + "0" * 30], "--step: found 1000"),
        ([{"latitude": 1, "longitude": 1}] * 2, ["--cell", "1e-320"], "--cell: found 1e-320"),
        ([{"latitude": 1e308, "longitude": 1}] * 2, [], "no value that could be a state in 2 events"),
        (["a", "b"], ["--smoothing", "-1"], "smoothing: found -1"),
        (["a", "b"], ["--step", "0"], "--step: found 0"),
        ([1, 2], ["--states", "1"], "--states: found 1"),
        ([{"latitude": 1, "longitude": 1}] * 2, ["--cell", "0"], "--cell: found 0"),
        ([{"latitude": 1, "longitude": 1}] * 2, ["--cell", "nan"], "--cell: found nan"),
        ([{"walk": 1}] * 2, [], "--key"),
        ([None, [1]], [], "no value that could be a state in 2 events"),
        (["a"], [], "transitions: found none"),
        ([str(n) for n in range(1001)], [], "states: found 1001"),
        (["a", "b"], ["--out", "."], "cannot"),
    ],
)
def test_unusable_input_exits_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], values: list[Any] | None, words: list[str], found: str
) -> None:
    """The message names the option or what was found."""
    files = [] if values is None else [str(data(tmp_path, values))]
    words = [str(tmp_path) if word == "." else word for word in words]
    assert main(["correlate", *files, *words]) == 2
    said = capsys.readouterr().err
    assert found in said or (found == "cannot" and "name a file" in said)


def _question(folder: Path, found: dict[str, Any]) -> Path:
    path = folder / "question.json"
    path.write_text(json.dumps({"backward": found["backward"], "forward": found["forward"], "epsilons": [0.1, 0.1]}))
    return path
