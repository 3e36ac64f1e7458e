"""``loss``: matrices and budgets go in, the losses of every timestamp come out."""

import json
import math
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_app.loss.correlation import Correlation
from stream_app.loss.landmark import landmark_losses
from stream_app.loss.matrix import TransitionMatrix
from tests.command import Cli

CAO = [[0.8, 0.2], [0, 1]]
QUESTION: dict[str, Any] = {"backward": CAO, "forward": CAO, "epsilons": [0.1] * 10}
BACKWARD = [0.1, 0.1808, 0.2471, 0.3024, 0.3488, 0.3881, 0.4216, 0.4503, 0.4750, 0.4964]


def ask(folder: Path, question: object) -> Path:
    """Write a question; text is written unchanged."""
    path = folder / "question.json"
    path.write_text(question if isinstance(question, str) else json.dumps(question))
    return path


def answer(cli: Cli, path: Path | str) -> dict[str, Any]:
    """Return what the command prints as JSON."""
    found: dict[str, Any] = cli("loss", path, "--json").document
    return found


def test_worked_example(tmp_path: Path, cli: Cli) -> None:
    """The figures of design section 7 match to the printed digits, under exactly the members named there."""
    found = answer(cli, ask(tmp_path, QUESTION))
    assert list(found) == ["backward", "forward", "total", "landmark", "supremum"]
    assert [round(value, 4) for value in found["backward"]] == BACKWARD
    assert [round(value, 4) for value in found["forward"]] == BACKWARD[::-1]
    assert [round(value, 4) for value in found["total"][:5]] == [0.4964, 0.5558, 0.5975, 0.6239, 0.6368]
    assert found["landmark"] is None
    assert list(found["supremum"]) == ["backward", "forward"]
    assert [round(found["supremum"][name], 5) for name in ("backward", "forward")] == [0.64591, 0.64591]


@pytest.mark.parametrize(
    ("matrix", "epsilon", "wanted"),
    [(CAO, 0.15, 1.19224), (CAO, 0.22314, 9.21), (CAO, 0.22315, None), ([[0.8, 0.2], [0.1, 0.9]], 0.23, 0.79234)],
)
def test_suprema(tmp_path: Path, cli: Cli, matrix: object, epsilon: float, wanted: float | None) -> None:
    """The suprema assume the largest epsilon is spent forever, and are null from ln(1 / 0.8) = 0.223143... on."""
    question = {"backward": matrix, "forward": None, "epsilons": [0, epsilon, epsilon / 2]}
    found = answer(cli, ask(tmp_path, question))["supremum"]
    assert found["forward"] == epsilon
    if wanted is None:
        assert found["backward"] is None
    elif wanted < 2:
        assert round(found["backward"], 5) == wanted
    else:
        # x = m / (1 - S (1 + m)) is the fixed point of the pair with D = 0, S = 0.8 (Cao et al. 2017, theorem 5).
        grown = math.expm1(epsilon)
        assert found["backward"] == pytest.approx(math.log1p(grown / (0.2 - 0.8 * grown)), rel=1e-9)


def test_digits_are_those_of_doubles(tmp_path: Path, cli: Cli) -> None:
    """Every figure reads back as the same double that was computed, also for landmarks and the sparse form."""
    generator = np.random.default_rng(7)
    rows, epsilons = generator.dirichlet(np.ones(5), 5), generator.random(40).tolist()
    sparse = {"states": 5, "entries": [[i, j, float(rows[i, j])] for i in range(5) for j in range(5)]}
    question = {"backward": rows.tolist(), "forward": sparse, "epsilons": epsilons, "landmarks": [3, 30, 3]}
    found = answer(cli, ask(tmp_path, question))
    matrix = TransitionMatrix.of(rows)
    adversary = Correlation(matrix, matrix).adversary()
    loss = adversary.temporal_loss(epsilons)
    assert found["backward"] == list(loss.backward)
    assert found["forward"] == list(loss.forward)
    assert found["total"] == list(loss.total)
    assert found["landmark"] == list(landmark_losses(adversary, epsilons, [3, 30]))


def test_standard_input_and_few_members(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """``-`` reads standard input; omitted or null members mean an adversary without knowledge and no landmarks."""
    for text in (
        '{"epsilons": [0.25, 0, 1]}',
        '{"backward":null,"forward":null,"epsilons":[0.25,0,1],"landmarks":null}',
    ):
        monkeypatch.setattr("sys.stdin", StringIO(text))
        found = answer(cli, "-")
        assert found["backward"] == found["forward"] == found["total"] == [0.25, 0, 1]
        assert found["landmark"] is None
    monkeypatch.setattr("sys.stdin", StringIO('{"epsilons": []}'))
    assert answer(cli, "-")["total"] == []


def test_text_says_what_the_figures_are(tmp_path: Path, cli: Cli) -> None:
    """The text names each loss's worst timestamp, calls the estimate one, and gives the sum that always holds."""
    said = cli("loss", str(ask(tmp_path, {**QUESTION, "landmarks": [2]}))).out
    assert "1 spent in total" in said
    assert "temporal loss: at most 0.636841, at timestamp 4" in said
    assert "(estimate)" in said
    assert "stays under 0.645907" in said
    assert "grows without bound" in cli("loss", str(ask(tmp_path, {**QUESTION, "epsilons": [0.5]}))).out


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({**QUESTION, "backward": [[1, 0]]}, ("backward", "row 0", "square")),
        ({**QUESTION, "backward": [[1, 0], [0.5]]}, ("backward", "row 1", "square")),
        ({**QUESTION, "forward": [[1, 0], [0.5, 0.4]]}, ("forward", "row 1", "sums to 0.9", "divide")),
        ({**QUESTION, "forward": [[1.5, -0.5], [0, 1]]}, ("forward", "row 0", "below 0", "0 to 1")),
        ({**QUESTION, "backward": [[1, 0], [math.nan, 1]]}, ("backward", "row 1", "not finite", "0 to 1")),
        ({**QUESTION, "backward": [[math.inf, 0], [0, 1]]}, ("backward", "row 0", "not finite", "0 to 1")),
        ({**QUESTION, "backward": [[10**400, 0], [0, 1]]}, ("backward", "row 0", "not finite", "0 to 1")),
        ({**QUESTION, "backward": [[1, 0], [None, 1]]}, ("backward", "row 1", "is not a number")),
        ({**QUESTION, "backward": [[True, False], [0, 1]]}, ("backward", "row 0", "is not a number")),
        ({**QUESTION, "backward": []}, ("backward", "no states", "one row for each")),
        ({**QUESTION, "backward": [1, 2]}, ("backward", "row 0", "no list")),
        ({**QUESTION, "backward": 7}, ("backward", "list of rows")),
        ({**QUESTION, "backward": {"states": 2, "entries": [[0, 0, 1], [1, 5, 1]]}}, ("backward", "row 1", "0 to 1")),
        ({**QUESTION, "backward": {"states": 2, "entries": [[0, 0, 1]]}}, ("backward", "row 1", "sums to 0")),
        ({**QUESTION, "forward": [[1]]}, ("backward has 2 states, but forward has 1", "same states")),
        ({**QUESTION, "epsilons": [0.1, -0.1]}, ("epsilon 1", "-0.1", "at least 0")),
        ({**QUESTION, "epsilons": [1.7e308, 1.7e308]}, ("epsilon 0", "1.7e+308", "at most 1e+09")),
        ({**QUESTION, "origin": {}}, ("'origin'", "known members are")),
        ({**QUESTION, "\x1b[2J": {}}, ("'\\x1b[2J'", "known members are")),
        ({**QUESTION, "backward": [[1, 1e-310], [0, 1]]}, ("backward", "row 0", "use 0")),
        ({**QUESTION, "epsilons": [math.nan]}, ("epsilon 0", "nan", "finite")),
        ({**QUESTION, "epsilons": [math.inf]}, ("epsilon 0", "inf", "finite")),
        ({**QUESTION, "epsilons": ["a"]}, ("epsilons", "list of numbers")),
        ({**QUESTION, "epsilons": [True]}, ("epsilons", "list of numbers")),
        ({"backward": CAO, "forward": CAO}, ("epsilons", "list of numbers")),
        ({**QUESTION, "landmarks": [10]}, ("landmark 10", "0 to 9")),
        ({**QUESTION, "landmarks": [-1]}, ("landmark -1", "0 to 9")),
        ({**QUESTION, "landmarks": [1.5]}, ("landmarks", "indices")),
        ({**QUESTION, "landmarks": 3}, ("landmarks", "indices")),
        ({**QUESTION, "epsilon": [1]}, ("epsilon", "epsilons")),
        ([], ("not an object",)),
        ("{", ("is not valid JSON at line 1, character 2",)),
        ("[" * 100_000, ("nested too deeply",)),
    ],
)
def test_bad_input_exits_2_and_names_the_place(
    tmp_path: Path, cli: Cli, question: object, words: tuple[str, ...]
) -> None:
    """One line names file, matrix, row and remedy, and no result is printed."""
    path = ask(tmp_path, question)
    said = cli("loss", path, "--json", code=2)
    assert not said.out
    assert said.err.startswith(f"landmark-stream loss: {path}: ")
    assert len(said.err.splitlines()) == 1
    for word in words:
        assert word in said.err


def test_unreadable_files_exit_2(tmp_path: Path, cli: Cli) -> None:
    """A missing file, a folder and bytes that are not text give exit code 2."""
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    for name in ("missing", ".", "bytes"):
        assert str(tmp_path / name) in cli("loss", str(tmp_path / name), code=2).err


AUDIT = ("--ledger", "--releases", "--html", "--heads", "--proof")


@pytest.mark.parametrize("command", [*(f"audit {option}" for option in AUDIT), "loss", "correlate"])
def test_no_path_holds_nul(command: str, cli: Cli) -> None:
    """A caller of `main` can pass one; it is refused like any other invalid argument."""
    assert "NUL character" in cli.ended(*command.split(), "a\0b").err
