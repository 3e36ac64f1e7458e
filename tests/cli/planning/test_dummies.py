"""``dummies``: landmarks go in; options with their probabilities and one drawn set come out."""

import json
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from stream_app.calendar.words import moment_in_words
from stream_app.privacy.dummies.draw import drawn_landmarks, named_by_series
from stream_app.privacy.landmarks import Grid
from stream_app.privacy.policy import policy_of
from stream_app.setup import keyfile
from tests.command import Cli
from tests.run import NUMBER, UNIFORM

HOUR = 3_600_000
START = 1_338_534_000_000 // HOUR * HOUR
QUESTION: dict[str, Any] = {
    "start": START,
    "end": START + 12 * HOUR,
    "step": HOUR,
    "landmarks": [START + 3 * HOUR + 5, [START + 7 * HOUR, START + 9 * HOUR]],
    "method": "heuristic",
    "utility": "count",
    "epsilon": 0.5,
}
TRUE = {START + step * HOUR for step in (3, 7, 8)}


def ask(folder: Path, **members: Any) -> str:
    """Write a question without the members that are None."""
    path = folder / "question.json"
    question = {name: part for name, part in (QUESTION | members).items() if part is not None}
    path.write_text(json.dumps(question))
    return str(path)


def answer(cli: Cli, *words: str) -> dict[str, Any]:
    """Return what the command prints as JSON."""
    found: dict[str, Any] = cli("dummies", *words, "--json").document
    return found


@pytest.mark.parametrize("method", ["optimal", "heuristic", "partitioned"])
@pytest.mark.parametrize("utility", ["proximity", "count"])
def test_the_contract(tmp_path: Path, cli: Cli, method: str, utility: str) -> None:
    """Design section 10 holds for the answer and its members.

    These are growing options without the true landmarks, chances that sum to 1, and the drawn set.
    """
    found = answer(cli, ask(tmp_path, method=method, utility=utility))
    assert list(found) == ["options", "probabilities", "chosen", "landmarks"]
    options, chances, chosen = found["options"], found["probabilities"], found["chosen"]
    assert len(options) == len(chances) == 9
    assert sum(chances) == pytest.approx(1)
    assert TRUE <= set(found["landmarks"]) <= {START + step * HOUR for step in range(12)}
    assert found["landmarks"] == sorted(found["landmarks"])
    if utility == "count":
        assert [option["score"] for option in options] == [-float(number) for number in range(1, 10)]
    name = "histogram" if method == "partitioned" else "dummies"
    assert all(list(option) == [name, "score"] for option in options)
    if method == "partitioned":
        assert [sum(option["histogram"]) for option in options] == list(range(4, 13))
        assert len(found["landmarks"]) == sum(options[chosen]["histogram"])
    else:
        assert all(set(here["dummies"]) < set(there["dummies"]) for here, there in pairwise(options))
        assert set(found["landmarks"]) == TRUE | set(options[chosen]["dummies"])
        assert not TRUE & set(options[-1]["dummies"])


def test_a_key_draws_what_the_worker_draws(tmp_path: Path, cli: Cli) -> None:
    """With key and series, the set repeats that of a policy with the same charge; otherwise it varies."""
    key = tmp_path / "noise.key"
    ring = keyfile.create(key)
    file = ask(tmp_path)
    found = {tuple(answer(cli, file, "--key", str(key), "--series", "home-7")["landmarks"]) for _ in range(3)}
    protection = {"level": "landmark", "landmarks": QUESTION["landmarks"], "step": HOUR}
    dummies = {name: QUESTION[name] for name in ("start", "end", "method", "utility")} | {"fraction": 0.25}
    members = {"epsilon": 2.0, "protection": protection, "dummies": dummies, "scheme": UNIFORM, "value": NUMBER}
    request = policy_of(members, 1).dummies
    assert request is not None
    drawn = drawn_landmarks(ring, named_by_series("home-7"), Grid(HOUR), request)
    assert drawn is not None
    assert found == {tuple(step * HOUR for start, end in drawn.intervals for step in range(start, end))}
    assert len({tuple(answer(cli, file)["landmarks"]) for _ in range(8)}) > 1


def test_times_as_people_say_them(tmp_path: Path, cli: Cli) -> None:
    """The draw is the same as with integers; errors are reported by member."""
    key = tmp_path / "noise.key"
    keyfile.create(key)
    options = ("--key", str(key), "--series", "home-7")
    drawn = answer(cli, ask(tmp_path), *options)
    clocks = [datetime.fromtimestamp(ms / 1000, ZoneInfo("Europe/Paris")) for ms in (START, START + 12 * HOUR)]
    start, end = (moment.replace(tzinfo=None).isoformat() for moment in clocks)
    landmarks = [moment_in_words(START + 3 * HOUR + 5), [START + 7 * HOUR, START + 9 * HOUR]]
    said = ask(tmp_path, start=start, end=end, zone="Europe/Paris", landmarks=landmarks)
    assert answer(cli, said, *options) == drawn
    message = cli("dummies", ask(tmp_path, start="soon", landmarks=[*landmarks, start]), code=2).err
    assert "protection.landmarks.2: found something else; add a zone" in message
    assert 'dummies.start: found "soon"; use ISO 8601' in message


def test_padding(tmp_path: Path, cli: Cli) -> None:
    """Padding has no options; the output gives the loss of a landmark."""
    file = ask(tmp_path, method="padding", probability=0.5, epsilon=None, utility=None)
    found = answer(cli, file)
    assert (found["options"], found["probabilities"], found["chosen"]) == ([], [], None)
    assert set(found["landmarks"]) >= TRUE
    assert "ln(1/p) = 0.693147" in cli("dummies", file).out


def test_for_people(tmp_path: Path, cli: Cli) -> None:
    """A table of at most 21 options marks the drawn one; cost, effect on shares and a picture are given too."""
    picture = tmp_path / "seen.png"
    end = START + 200 * HOUR
    found = cli("dummies", ask(tmp_path, end=end), "--picture", picture).out
    assert found.count("drawn") == 1
    assert "197 options by heuristic; the draw costs epsilon 0.5" in found
    assert "3 of them true landmarks" in found
    assert picture.read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"method": "optimal", "end": START + 17 * HOUR}, "at most 16 steps, but found 17; choose heuristic"),
        ({"epsilon": None}, "epsilon: "),
        ({"epsilon": 0}, "epsilon: "),
        ({"utility": "odd"}, "dummies.utility: "),
        ({"landmarks": [START - 1]}, "protection.landmarks: some landmarks are outside"),
        ({"landmarks": "x"}, "protection.landmarks: "),
        ({"steps": 3}, "unknown member 'steps'"),
        ({"method": "padding", "probability": 0.5, "utility": None}, "epsilon: padding has no cost"),
        ({"method": "heuristic", "end": START + 3000 * HOUR}, "at most 2048 steps, but this range has 3000"),
    ],
)
def test_unusable_input(tmp_path: Path, cli: Cli, members: dict[str, Any], said: str) -> None:
    """The exit code is 2, and the error names the member, the limit and the remedy."""
    assert said in cli("dummies", ask(tmp_path, **members), "--json", code=2).err


def test_unusable_files(tmp_path: Path, cli: Cli) -> None:
    """The error reports a file that is missing or is no JSON object, and a series without a key."""
    (tmp_path / "a").write_text("[]")
    (tmp_path / "b").write_text("{")
    for words, said in (
        ([str(tmp_path / "a")], "not an object"),
        ([str(tmp_path / "b")], "not JSON"),
        ([str(tmp_path / "c")], "there is no such file"),
        ([ask(tmp_path), "--series", "home-7"], "add --key"),
        ([ask(tmp_path), "--key", str(tmp_path / "c")], "create one with `keys new`"),
        ([ask(tmp_path), "--picture", str(tmp_path / "d")], "must give the format"),
    ):
        assert said in cli("dummies", *words, code=2).err
