"""``check`` and ``plan``: a policy's times as dates and durations, and times that look like seconds."""

from pathlib import Path
from typing import Any

import pytest

from stream_app.cli import main
from tests.command import Cli, saved
from tests.run import policy

HOUR_MS = 3_600_000
START_MS = 1_338_534_000_000
NOISE = (
    "the noise at a landmark has a scale of 20, which exceeds the range of 10. With "
    '{"name":"balanced","regular_share":1} landmarks are not published, and the other steps get all of '
    "epsilon. The price is a larger temporal loss."
)

TWO = "2012-06-01T07:00Z to 2012-06-01T08:00Z and 2012-06-01T16:00Z to 2012-06-01T18:00Z"


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
            f"step 1 h; 3 landmark steps in 2 intervals, {TWO}; 2 to spare",
        ),
        (
            of_level("landmark", landmarks=["2012-06-01"], zone="Europe/Paris"),
            "step 1 h; 24 landmark steps in 1 interval, 2012-06-01T00:00+02:00 to 2012-06-02T00:00+02:00",
        ),
        (of_level("user", length=36), "step 1 h; 36 steps together, 1 d 12 h"),
        (of_level("w-event", window=168), "step 1 h; any 168 consecutive steps, 7 d"),
    ],
)
def test_times_are_said(record: dict[str, Any], words: str, tmp_path: Path, cli: Cli) -> None:
    """`check` prints times after the series, and `plan` below it; programs also get integers."""
    file = saved(tmp_path / "policies.jsonl", record)
    first, second, *said = (line for line in cli("check", file).out.splitlines() if not line.startswith("note: "))
    assert [first, second] == ["policies = 1", f"home-1: {words}"]
    planned = [line for line in cli("plan", file).out.splitlines() if not line.startswith("note: ")]
    assert planned[1] == words
    assert planned[2 : 2 + len(said)] == said
    (place,) = (nth for nth, line in enumerate(said) if line.startswith("  In odds: someone who thought a claim "))
    promise = said[:place]
    (times,) = cli("check", file, "--json").document["times"]
    assert (times["series"], times["step_ms"], times["words"]) == ("home-1", HOUR_MS, words)
    assert times["promise"] == " ".join(line.strip() for line in promise)
    assert times["promise"].startswith("Take two histories of home-1 that differ only at ")
    assert all(len(line) < 80 for line in promise)


def test_integers_are_for_programs(tmp_path: Path, cli: Cli) -> None:
    """The range runs from the first landmark step's start to the last one's end; dummies give only their range."""
    landmarks = [START_MS + 5, [START_MS + 9 * HOUR_MS, START_MS + 11 * HOUR_MS]]
    hidden = {"method": "padding", "probability": 0.5, "start": START_MS, "end": START_MS + 12 * HOUR_MS}
    plain = of_level("landmark", landmarks=landmarks)
    file = saved(tmp_path / "policies.jsonl", plain, {**plain, "series": "home-2", "dummies": hidden})
    first, second = cli("check", file, "--json").document["times"]
    assert (first["landmark_steps"], first["intervals"], first["dummies_ms"]) == (3, 2, None)
    assert first["landmarks_ms"] == [START_MS, START_MS + 11 * HOUR_MS]
    assert (second["landmark_steps"], second["intervals"], second["landmarks_ms"]) == (None, None, None)
    assert second["dummies_ms"] == [START_MS, START_MS + 12 * HOUR_MS]
    assert second["words"].endswith("landmarks hidden by dummies, drawn in 2012-06-01T07:00Z to 2012-06-01T19:00Z")


def test_what_looks_like_seconds_is_noted(tmp_path: Path, cli: Cli) -> None:
    """Steps, landmarks and renewals get a note, not an error, since nobody can be sure."""
    seconds = policy(
        "home-1",
        protection={"level": "landmark", "step": 3600, "landmarks": [START_MS // 1000]},
        renew=[START_MS // 1000],
    )
    config = tmp_path / "landmark-stream.toml"
    config.write_text("lifetime_epsilon = 9.0\n")
    file = saved(tmp_path / "policies.jsonl", seconds)
    meant = "for 2012-06-01T07:00Z, use 1338534000000"
    moment = f"1338534000 looks like seconds: in milliseconds it is 1970-01-16T11:48:54Z; {meant}"
    notes = [
        "home-1: protection.step: 3600 looks like seconds: in milliseconds it is 3 s 600 ms; for 1 h, use 3600000",
        f"home-1: protection.landmarks: {moment}",
        f"home-1: renew: {moment}",
        f"home-1: scheme: {NOISE}",
    ]
    assert main(["check", file, "--config", str(config)]) == 0
    assert [line[6:] for line in cli.said().out.splitlines() if line.startswith("note: ")] == notes
    assert cli("plan", file, "--config", config, "--steps", "3", "--json").document["warnings"] == notes
    assert main(["plan", file, "--config", str(config), "--steps", "3"]) == 0
    assert [line.removeprefix("note: ") for line in cli.said().out.splitlines()[2:6]] == notes


def test_the_settings_bound_what_a_policy_promises(tmp_path: Path, cli: Cli) -> None:
    """The paragraph includes the lifetime and the member's cap."""
    config = tmp_path / "landmark-stream.toml"
    config.write_text('lifetime_epsilon = 9.0\nmember_separator = "/"\nmember_epsilon = 12.0\n')
    assert (
        main(["check", saved(tmp_path / "policies.jsonl", of_level("event")), "--config", str(config), "--json"]) == 0
    )
    promise = cli.said().document["times"][0]["promise"]
    assert "together cost at most epsilon 9.0." in promise
    assert "All series of one person together cost at most epsilon 12.0." in promise


def test_default_policies_of_the_settings(tmp_path: Path, cli: Cli) -> None:
    """Each policy is named by its glob, from the settings and from their file."""
    default = {name: value for name, value in of_level("event").items() if name not in {"type", "version"}}
    file = saved(tmp_path / "policies.jsonl", {**default, "series": "home-*"})
    config = tmp_path / "landmark-stream.toml"
    config.write_text(f'key_file = "{tmp_path / "key"}"\npolicies_file = "{file}"\n')
    assert main(["keys", "new", str(tmp_path / "key")]) == 0
    assert "\nhome-*: step 1 h\n" in cli("check", "--config", config).out


@pytest.mark.parametrize(
    "command", [["check"], ["plan", "--steps", "5"], ["verify"], ["replay", "--out", "out", "--policies"]]
)
def test_names_do_nothing_to_the_terminal(
    command: list[str], tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Someone else's policy can use any names for series and members: they are printed as text on their line."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "events.jsonl").write_text("")
    odd = "a\x1b[31m\nb"
    useless = policy(odd, protection={"level": "landmark", "landmarks": [5], "step": 1})
    for record in (
        policy(odd, protection={"level": "event"}),
        policy("a") | {odd: 1},
        policy("b", scheme={odd: 1}),
        useless,
    ):
        file = saved(tmp_path / "policies.jsonl", record)
        words = ["replay", "events.jsonl", *command[1:], file] if command[0] == "replay" else [*command, file]
        main([*words, "--runs", "5", "--jobs", "1"] if command[0] == "verify" else words)
        said = cli.said()
        assert "\x1b" not in said.out + said.err
        assert "\nb" not in said.out + said.err


@pytest.mark.parametrize(("kind", "member"), [("local", "value.transitions"), ("renewed", "renew.first")])
def test_what_no_clock_decides_is_said_before_replay_refuses_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, member: str
) -> None:
    """A sent record counts from today; the same line as a default policy is fixed, and names its day."""
    protection = {"level": "landmark", "step": "1d", "unit": "1h", "open_steps": 1, "zone": "Europe/Paris"}
    value = {"kind": "number", "lower": 0, "upper": 9, "resolution": 1, "statistic": "mean"}
    record = {"type": "policy", "series": "home-7", "version": 1, "epsilon": 1.0, "protection": protection}
    record |= {"scheme": {"name": "uniform"}, "value": value | ({"by": "hour"} if kind == "local" else {})}
    if kind == "renewed":
        record["renew"] = {"every": "year", "zone": "Europe/Paris", "until": "2099-12-31"}
    file, events, config = tmp_path / "policy.json", tmp_path / "events.jsonl", tmp_path / "settings.toml"
    config.write_text("lifetime_epsilon = 9.0")
    saved(file, record)
    events.write_text('{"series":"home-7","timestamp":1700000000000,"value":3}')
    assert main(["check", str(file), "--config", str(config)]) == 0
    notes = [line for line in capsys.readouterr().out.splitlines() if line.startswith("note: ")]
    (note,) = [line for line in notes if f" {member}: " in line]
    words = ["replay", str(events), "--policies", str(file), "--out", str(tmp_path / "out"), "--config", str(config)]
    assert main(words) == 2
    (refused,) = capsys.readouterr().err.splitlines()
    place, _, why = refused.removeprefix("landmark-stream replay: ").partition(f" {member}: ")
    assert (
        note == f"note: {place} {member}: accepted by `policy`, which starts from today, but not by `policies_file` or "
        f"`replay --policies`: {why}"
    )
