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
from tests.command import Cli, saved
from tests.run import observation, policy

WARNING = "statistics of the values in the file"
MEMBERS = {"backward", "forward", "origin", "strength"}
MEASURES = {"distance", "most_carried", "unbounded_from", "carried_of_one"}


def data(folder: Path, values: list[Any], *, step: int = 1000) -> str:
    """Write observations of one series at neighbouring steps, after a policy that is ignored."""
    records = (observation("a", nth * step, value) for nth, value in enumerate(values))
    return saved(folder / "events.jsonl", policy("a"), *records)


def made(cli: Cli, *words: str | Path) -> dict[str, Any]:
    """Return the correlation file that the command prints."""
    found: dict[str, Any] = cli("correlate", *words, "--json").document
    assert found.keys() == MEMBERS
    assert found["strength"]["backward"].keys() == found["strength"]["forward"].keys() == MEASURES
    return found


def test_categories(tmp_path: Path, cli: Cli) -> None:
    """Three transitions start from ill (two stay, one leaves) and one from well, as counted by hand."""
    path = data(tmp_path, ["ill", "ill", "ill", "well", "ill"])
    found = made(cli, path)
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


def test_it_warns_and_a_strength_does_not(tmp_path: Path, cli: Cli) -> None:
    """The warning is on standard error, whatever the output; the help repeats it."""
    path = data(tmp_path, [True, False, True])
    for words in ([], ["--json"]):
        assert WARNING in cli("correlate", path, *words).err
        assert not cli("correlate", "--strength", "0.5", *words).err
    assert "itself sensitive" in cli.ended("correlate", "--help", code=0).out


def test_strength_is_the_parametric_family(cli: Cli) -> None:
    """Every digit matches the parametric family, and its strength is shown."""
    found = made(cli, "--strength", "0.25", "--states", "4")
    wanted = Correlation.of_strength(4, 0.25)
    assert wanted.forward is not None
    assert found["forward"] == found["backward"] == wanted.forward.rows.tolist()
    assert found["origin"] == {"from": "strength", "states": 4, "strength": 0.25}
    assert found["strength"]["forward"]["distance"] == pytest.approx(0.25)


def test_kinds_of_values(tmp_path: Path, cli: Cli) -> None:
    """Numbers use quantiles or a grid, locations cells, counts one key; other values are omitted and counted."""
    numbers = [0.0, 1.0, 100.0, 1.0, 0.0, 100.0, 1.0, "broken", None]
    path = data(tmp_path, numbers)
    by_quantiles = made(cli, path, "--states", "3")
    assert (by_quantiles["origin"]["states"], by_quantiles["origin"]["left_out"]) == (3, 2)
    by_grid = made(cli, path, "--states", "3", "--by", "grid")
    assert by_grid["origin"]["states"] == 2
    assert (
        made(cli, data(tmp_path, [{"walk": n, "ride": 0} for n in (1, 5, 5)]), "--key", "walk")["origin"]["values"] == 3
    )
    places = [{"latitude": -10.9 + n * 0.01, "longitude": -37.0} for n in (0, 0, 1, 0, 5)]
    found = made(cli, data(tmp_path, places), "--cell", "500")
    assert (found["origin"]["by"], found["origin"]["states"]) == ("cells", 3)
    assert made(cli, data(tmp_path, places), "--cell", "1e6")["origin"]["states"] == 1


def test_only_neighbouring_steps_count_with_a_step(tmp_path: Path, cli: Cli) -> None:
    """Readings two seconds apart are neighbours in the file, but not at steps of one second."""
    path = data(tmp_path, ["a", "b", "a"], step=2000)
    assert made(cli, path)["origin"]["transitions"] == 2
    assert made(cli, path, "--step", "2000")["origin"]["transitions"] == 2
    assert "transitions: found none" in cli("correlate", path, "--step", "1000", code=2).err


def test_csv_and_smoothing(tmp_path: Path, cli: Cli) -> None:
    """The mapping is that of `replay`; smoothing removes apparent certainty."""
    path = tmp_path / "events.csv"
    path.write_text("t,v\n" + "".join(f"{n},{n % 2}\n" for n in range(9)))
    mapping = ["--series", "a", "--timestamp-column", "t", "--value-columns", "v"]
    found = made(cli, path, *mapping, "--states", "2", "--smoothing", "0.5")
    assert found["forward"] == [[0.25, 0.75], [0.75, 0.25]]
    assert made(cli, path, *mapping, "--states", "2")["strength"]["forward"]["unbounded_from"] == 0


def test_the_file_is_private_and_reads_back(tmp_path: Path, cli: Cli) -> None:
    """The mode is 0600, even over an open file; `load` reads the printed matrices to the last digit."""
    generator = np.random.default_rng(5)
    path, out = data(tmp_path, generator.normal(size=500).cumsum().tolist()), tmp_path / "household.json"
    out.touch(mode=0o644)
    found = made(cli, path, "--states", "7", "--out", out)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert json.loads(out.read_text()) == found
    correlation = correlationfile.load(out)
    assert correlation.forward is not None
    assert correlation.forward.rows == pytest.approx(np.array(found["forward"]), rel=1e-15)
    assert main(["loss", str(_question(tmp_path, found))]) == 0


def test_no_value_stands_in_report_or_file(tmp_path: Path, cli: Cli) -> None:
    """Neither has categories, series, bounds or keys, because the loss needs none of them."""
    path = data(tmp_path, ["secret-clinic", "home", "secret-clinic", "home"])
    assert main(["correlate", str(path)]) == 0
    said = cli("correlate", path, "--json")
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
        ([{"latitude": 1e308, "longitude": 1}] * 2, [], "none of 2 events"),
        (["a", "b"], ["--smoothing", "-1"], "smoothing: found -1"),
        (["a", "b"], ["--step", "0"], "--step: found 0"),
        ([1, 2], ["--states", "1"], "--states: found 1"),
        ([{"latitude": 1, "longitude": 1}] * 2, ["--cell", "0"], "--cell: found 0"),
        ([{"latitude": 1, "longitude": 1}] * 2, ["--cell", "nan"], "--cell: found nan"),
        ([{"walk": 1}] * 2, [], "--key"),
        ([None, [1]], [], "none of 2 events"),
        (["a"], [], "transitions: found none"),
        ([str(n) for n in range(1001)], [], "states: found 1001"),
        (["a", "b"], ["--out", "."], "cannot"),
    ],
)
def test_unusable_input_exits_2(
    tmp_path: Path, cli: Cli, values: list[Any] | None, words: list[str], found: str
) -> None:
    """The message names the option or what was found."""
    files = [] if values is None else [str(data(tmp_path, values))]
    words = [str(tmp_path) if word == "." else word for word in words]
    said = cli("correlate", *files, *words, code=2).err
    assert found in said or (found == "cannot" and "specify a writable file" in said)


def _question(folder: Path, found: dict[str, Any]) -> Path:
    path = folder / "question.json"
    path.write_text(json.dumps({"backward": found["backward"], "forward": found["forward"], "epsilons": [0.1, 0.1]}))
    return path
