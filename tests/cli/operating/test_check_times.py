"""``check`` and ``plan``: the times of policies as dates and durations, and what of them looks like seconds."""

import json
from pathlib import Path
from typing import Any

import pytest

from stream_app.cli import main
from tests.run import policy

HOUR_MS = 3_600_000
START_MS = 1_338_534_000_000


def written(folder: Path, *policies: dict[str, Any]) -> str:
    """Write a policy file."""
    file = folder / "policies.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in policies))
    return str(file)


def of_level(level: str, **members: object) -> dict[str, Any]:
    """Return a policy with steps of an hour."""
    return policy("home-1", protection={"level": level, "step": HOUR_MS, **members})


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (of_level("event"), "step 1 h"),
        (of_level("landmark"), "step 1 h; no landmarks yet"),
        (
            of_level("landmark", landmarks=[START_MS + 5, [START_MS + 9 * HOUR_MS, START_MS + 11 * HOUR_MS]], spare=2),
            "step 1 h; 3 landmark steps in 2 intervals, 2012-06-01T07:00Z to 2012-06-01T18:00Z; 2 to spare",
        ),
        (
            of_level("landmark", landmarks=["2012-06-01"], zone="Europe/Paris"),
            "step 1 h; 24 landmark steps in 1 interval, 2012-06-01T00:00+02:00 to 2012-06-02T00:00+02:00",
        ),
        (of_level("user", length=36), "step 1 h; 36 steps together, 1 d 12 h"),
        (of_level("w-event", window=168), "step 1 h; any 168 steps in a row, 7 d"),
    ],
)
def test_times_are_said(record: dict[str, Any], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By `check` behind the series, by `plan` under it; programs get integers beside."""
    file = written(tmp_path, record)
    assert main(["check", file]) == 0
    first, second, *promise = capsys.readouterr().out.splitlines()
    assert [first, second] == ["policies = 1", f"home-1: {words}"]
    assert main(["plan", file]) == 0
    planned = capsys.readouterr().out.splitlines()
    assert planned[1] == words
    assert planned[2 : 2 + len(promise)] == promise
    assert main(["check", file, "--json"]) == 0
    (times,) = json.loads(capsys.readouterr().out)["times"]
    assert (times["series"], times["step_ms"], times["words"]) == ("home-1", HOUR_MS, words)
    assert times["promise"] == " ".join(line.strip() for line in promise)
    assert times["promise"].startswith("Any two histories of home-1 that differ only at ")
    assert all(len(line) < 80 for line in promise)


def test_integers_are_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From the start of the first landmark step to the end of the last; under dummies their range alone."""
    landmarks = [START_MS + 5, [START_MS + 9 * HOUR_MS, START_MS + 11 * HOUR_MS]]
    hidden = {"method": "padding", "probability": 0.5, "start": START_MS, "end": START_MS + 12 * HOUR_MS}
    plain = of_level("landmark", landmarks=landmarks)
    file = written(tmp_path, plain, {**plain, "series": "home-2", "dummies": hidden})
    assert main(["check", file, "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["times"]
    assert (first["landmark_steps"], first["intervals"], first["dummies_ms"]) == (3, 2, None)
    assert first["landmarks_ms"] == [START_MS, START_MS + 11 * HOUR_MS]
    assert (second["landmark_steps"], second["intervals"], second["landmarks_ms"]) == (None, None, None)
    assert second["dummies_ms"] == [START_MS, START_MS + 12 * HOUR_MS]
    assert second["words"].endswith("landmarks hidden by dummies, drawn in 2012-06-01T07:00Z to 2012-06-01T19:00Z")


def test_what_looks_like_seconds_is_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Steps, landmarks and renewals; it is no error, since nobody can know."""
    seconds = policy(
        "home-1",
        protection={"level": "landmark", "step": 3600, "landmarks": [START_MS // 1000]},
        renew=[START_MS // 1000],
    )
    config = tmp_path / "landmark-stream.toml"
    config.write_text("lifetime_epsilon = 9.0\n")
    file = written(tmp_path, seconds)
    meant = "for 2012-06-01T07:00Z write 1338534000000"
    moment = f"1338534000 looks like seconds: as milliseconds it is 1970-01-16T11:48:54Z; {meant}"
    notes = [
        "home-1: protection.step: 3600 looks like seconds: as milliseconds it is 3 s 600 ms; for 1 h write 3600000",
        f"home-1: protection.landmarks: {moment}",
        f"home-1: renew: {moment}",
    ]
    assert main(["check", file, "--config", str(config)]) == 0
    assert [line[6:] for line in capsys.readouterr().out.splitlines() if line.startswith("note: ")] == notes
    assert main(["plan", file, "--config", str(config), "--steps", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == notes
    assert main(["plan", file, "--config", str(config), "--steps", "3"]) == 0
    assert [line.removeprefix("note: ") for line in capsys.readouterr().out.splitlines()[2:5]] == notes


def test_the_settings_bound_what_a_policy_promises(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The lifetime and a member's cap stand in the paragraph."""
    config = tmp_path / "landmark-stream.toml"
    config.write_text('lifetime_epsilon = 9.0\nmember_separator = "/"\nmember_epsilon = 12.0\n')
    assert main(["check", written(tmp_path, of_level("event")), "--config", str(config), "--json"]) == 0
    promise = json.loads(capsys.readouterr().out)["times"][0]["promise"]
    assert "together cost at most epsilon 9.0." in promise
    assert "What all series of one member may cost together is epsilon 12.0 at most." in promise


def test_default_policies_of_the_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each by its glob, from the settings and from their file."""
    default = {name: value for name, value in of_level("event").items() if name not in {"type", "version"}}
    file = written(tmp_path, {**default, "series": "home-*"})
    config = tmp_path / "landmark-stream.toml"
    config.write_text(f'key_file = "{tmp_path / "key"}"\npolicies_file = "{file}"\n')
    assert main(["keys", "new", str(tmp_path / "key")]) == 0
    assert main(["check", "--config", str(config)]) == 0
    assert "\nhome-*: step 1 h\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    "command", [["check"], ["plan", "--steps", "5"], ["verify"], ["replay", "--out", "out", "--policies"]]
)
def test_names_do_nothing_to_the_terminal(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A policy of somebody else may name series and members as it likes: they are printed as text on their line."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "events.jsonl").write_text("")
    file = tmp_path / "policies.jsonl"
    odd = "a\x1b[31m\nb"
    useless = policy(odd, protection={"level": "landmark", "landmarks": [5], "step": 1})
    for record in (
        policy(odd, protection={"level": "event"}),
        policy("a") | {odd: 1},
        policy("b", scheme={odd: 1}),
        useless,
    ):
        file.write_text(json.dumps(record) + "\n")
        words = ["replay", "events.jsonl", *command[1:], str(file)] if command[0] == "replay" else [*command, str(file)]
        main([*words, "--runs", "5", "--jobs", "1"] if command[0] == "verify" else words)
        said = capsys.readouterr()
        assert "\x1b" not in said.out + said.err
        assert "\nb" not in said.out + said.err
