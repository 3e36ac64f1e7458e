"""``policy`` and ``check``: what can be sent as the policy of a series, and what is for the configuration alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from stream_app.cli import main
from tests.run import NUMBER, policy


def written(folder: Path, *documents: dict[str, Any], indent: int | None = None) -> str:
    """Write documents, one a line unless indented; return the file's name."""
    path = folder / "policies.jsonl"
    path.write_text("\n".join(json.dumps(document, indent=indent) for document in documents) + "\n")
    return str(path)


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Name brokers that nobody reaches: a message about them tells that something was to be sent."""
    monkeypatch.setenv("LANDMARK_STREAM_BOOTSTRAP_SERVERS", "127.0.0.1:1")


@pytest.mark.parametrize("series", ["home-*", "home-?", "home-[12]"])
def test_a_glob_is_not_sent(tmp_path: Path, capsys: pytest.CaptureFixture[str], series: str) -> None:
    """It would rule the one series of that name; where it belongs is said, and none of the file is sent."""
    file = written(tmp_path, policy("home-1"), policy(series))
    assert main(["policy", file]) == 2
    said = capsys.readouterr().err
    assert said.splitlines() == [
        "landmark-stream policy: nothing sent",
        f"{file}:2: {series}: a glob is a default policy; name the file in `policies_file`",
    ]


def test_a_series_of_its_name_is_sent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A record over several lines is one: it comes as far as the brokers."""
    assert main(["policy", written(tmp_path, policy("home-1"), indent=1)]) == 2
    assert "brokers at 127.0.0.1:1" in capsys.readouterr().err


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("missing", [("type",), ("version",), ("type", "series", "version")])
def test_members_that_are_missing_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], missing: tuple[str, ...], indent: int | None
) -> None:
    """These and no others."""
    document = {name: value for name, value in policy("home-1").items() if name not in missing}
    file = written(tmp_path, document, indent=indent)
    assert main(["policy", file]) == 2
    assert f"{file}:1: no policy record; it lacks {', '.join(missing)}\n" in capsys.readouterr().err


@pytest.mark.parametrize(("changed", "defaults"), [({}, 0), ({"series": "home-*"}, 1), ({"type": None}, 1)])
def test_check_says_what_policy_cannot_send(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changed: dict[str, Any], defaults: int
) -> None:
    """Default policies are right where the configuration has them: code 0, and a line on it."""
    document = {name: value for name, value in (policy("home-1") | changed).items() if value is not None}
    file = written(tmp_path, policy("home-2"), document)
    assert main(["check", file]) == 0
    said = capsys.readouterr().out
    assert said.startswith("policies = 2\n")
    assert ("defaults_only = 1\n" in said) == bool(defaults)
    assert ("`policies_file`" in said) == bool(defaults)


LANDMARKS = {"level": "landmark", "landmarks": [5, 9]}


def test_versions_of_a_file_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What no event between them can mend is an error; landmarks that may have passed by then are a note."""
    weaker = policy("home-1", 2, protection={"level": "w-event", "window": 2})
    file = written(tmp_path, weaker, policy("home-1", 3, protection={"level": "event"}), policy("home-2", 1))
    lost = "fewer steps in a row, or shorter ones, are protected together"
    told = f'protects less than version 2: {lost}; keep that, or say "weaker":true and set accept_weaker_policies'
    assert main(["check", file]) == 2
    assert f"error: {file}:2.version: {told}\n" in capsys.readouterr().out
    assert main(["policy", file]) == 2
    assert f"nothing sent\n{file}:2: {told}\n" in capsys.readouterr().err


def test_what_may_have_passed_is_a_note(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """So is what the record itself says; neither keeps a file from being right."""
    first = policy("home-1", protection=LANDMARKS)
    file = written(tmp_path, first, policy("home-1", 2, protection={"level": "event"}), policy("home-2", 1))
    assert main(["check", file]) == 0
    told = "version 2 protects less than version 1: landmarks to come of the version before are none of its own; "
    assert f"note: {file}:2: {told}" in capsys.readouterr().out
    file = written(
        tmp_path, first, policy("home-1", 2, value={**NUMBER, "sensitivity": 1}, weaker=True, protection=LANDMARKS)
    )
    assert main(["check", file, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["problems"] == []
    assert "fewer values of one step are neighbours" in told["notes"][0]
    assert main(["check", written(tmp_path, first, policy("home-1", 2, protection=LANDMARKS))]) == 0
    assert "note" not in capsys.readouterr().out
    assert main(["check", written(tmp_path, policy("home-1", weaker="yes"))]) == 2
    assert ".weaker: is neither true nor false" in capsys.readouterr().out
