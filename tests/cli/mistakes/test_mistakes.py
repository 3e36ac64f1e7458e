"""Each mistake produces the exact text in the table, and no text from a library."""

import contextlib
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from stream_app.cli import main
from stream_app.privacy.policy import PolicyError, policy_of
from stream_app.setup.settings import InvalidSettingsError, Settings
from tests.cli.mistakes.commands import COMMANDS
from tests.cli.mistakes.exports import EXPORTS
from tests.cli.mistakes.files import FILES as OF_FILES
from tests.cli.mistakes.mistake import ENERGY, FILES, LINES, POLICY, REPLAY, Mistake, records
from tests.cli.mistakes.policies import POLICIES
from tests.cli.mistakes.times import TIMES

ALL = (*TIMES, *OF_FILES, *EXPORTS, *POLICIES, *COMMANDS)
LIBRARY = re.compile(
    r"Traceback|Errno|constrained|pydantic|msgspec|orjson|argparse|Input should|Extra inputs|Field required|Value error"
    r"|discriminator|instance of|tuple\[|literal\[|dict\[|NoneType|Error\b|invalid choice|unrecognized|Input tag"
)
"""Words that no user wrote and no page explains."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working folder for commands that contains these files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    for name, content in FILES.items():
        _write(Path(name), content)
    return tmp_path


def _write(path: Path, content: str | bytes) -> None:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(0o644)  # as most people's files are, whoever's umask this is


def _run(command: str) -> int:
    try:
        return main(command.split())
    except SystemExit as ended:
        return int(str(ended.code))


@pytest.mark.parametrize("mistake", ALL, ids=[f"{nth} {each.done}" for nth, each in enumerate(ALL)])
def test_a_mistake_says_what_the_table_has(mistake: Mistake, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every line appears whole and in order, with the right exit code and no word from a library."""
    for name, content in mistake.files.items():
        _write(folder / name, content)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert _run(mistake.command) == mistake.code
    out, err = capsys.readouterr()
    said = iter((out if mistake.command.startswith("check") else err).splitlines())
    for line in mistake.said:
        assert line in said, f"{line!r} is not in, or not in this order in:\n{out}{err}"
    assert mistake.said
    assert not LIBRARY.search(err), err
    assert not re.search("Errno|Input should|constrained", out)
    assert before == {path: path.read_bytes() for path in before}, "what was there is as it was"
    assert not list(folder.rglob("*.new")), "nothing half-written is left"


@pytest.mark.usefixtures("folder")
def test_the_control_is_no_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    """The same command with the files as they are decides all of them, and says nothing else."""
    assert _run(REPLAY) == 0
    events, landmarks = "2012-06-01T16:00Z to 2012-06-01T18:00Z", "2012-06-01T17:00Z to 2012-06-01T20:00Z"
    said = f"2 of 3 landmark steps have an event: the events are from {events}, and the landmarks are from {landmarks}"
    assert capsys.readouterr().err == f"landmark-stream replay: {said}\n"

    assert _run("check policies.jsonl") == 0
    assert "policies = 1\n" in capsys.readouterr().out


JUNK: tuple[Any, ...] = (
    None,
    True,
    "x",
    "",
    -1,
    0,
    1.5,
    10**30,
    1e300,
    [],
    ["x"],
    [[1, 2, 3]],
    {},
    {"x": 1},
    {"name": "x"},
)


def _spoiled(document: dict[str, Any]) -> Any:
    """Yield copies of the document, each with junk in place of one member at any depth."""
    for name, value in document.items():
        yield from ({**document, name: junk} for junk in JUNK)
        if isinstance(value, dict):
            yield from ({**document, name: inner} for inner in _spoiled(value))


def test_no_word_of_a_library_whatever_a_policy_holds() -> None:
    """Junk in any member of a policy of any kind and scheme is reported in the project's own words."""
    box = {"south": 1, "west": 1, "north": 2, "east": 2}
    kinds: tuple[dict[str, Any], ...] = (
        POLICY["value"],
        {"kind": "counts", "keys": ["a", "b"], "sensitivity": 2, "invalid": "reject"},
        {"kind": "location", "radius": 500, "resolution": 10, "bounds": box, "invalid": "reject"},
        {"kind": "category", "categories": ["a", "b"], "clamp": True, "invalid": "a"},
        {"kind": "vector", "parts": {"a": {"lower": 0, "upper": 1, "resolution": 0.1}}, "invalid": {"a": 0}},
        {"kind": "choice", "items": ["a", "b"]},
    )
    more = {"filter": "none", "lifetime": 2.0, "renew": [5, 6], "correlation": "x"}
    drawn = {"method": "optimal", "start": 1, "end": 2, "utility": "count", "fraction": 0.5}
    told: list[str] = []
    for value in kinds:
        whole = {name: part for name, part in POLICY.items() if name not in {"type", "series", "version"}}
        for scheme in ({"name": "adaptive", "increase": 0.5}, {"name": "bd", "dissimilarity": "released"}):
            for spoiled in _spoiled({**whole, **more, "value": value, "scheme": scheme, "dummies": drawn}):
                try:
                    policy_of(spoiled, 1)
                except PolicyError as error:
                    told.append(str(error))
    assert len(told) > 1000
    assert not [each for each in told if LIBRARY.search(each)]


@pytest.mark.parametrize("field", list(Settings.model_fields))
def test_no_word_of_a_library_whatever_a_setting_holds(field: str, folder: Path) -> None:
    """Junk in any setting of a file is reported without a word from a library."""
    told: list[str] = []
    for junk in JUNK:
        if junk is None or junk == 10**30:
            continue
        (folder / "my.toml").write_text(
            f"{field} = {json.dumps(junk)}\n" if not isinstance(junk, dict) else f"[{field}]\nx = 1\n"
        )
        try:
            Settings.load(folder / "my.toml")
        except InvalidSettingsError as error:
            told.append(str(error))
    assert not [each for each in told if LIBRARY.search(each)]


@pytest.mark.parametrize("name", ["standard input of a CSV", "standard input of records"])
def test_standard_input_is_decided_as_a_file(name: str, folder: Path) -> None:
    """Its bytes are those of a file, in a continued folder; while it waits, no other user can open it by name."""
    if "CSV" in name:
        named, dash = REPLAY, REPLAY.replace("energy.csv", "-")
    else:
        _write(folder / "events.jsonl", records(1338566400000, 1338570000000))
        named, dash = LINES, LINES.replace("events.jsonl", "-")
    assert _run(named) == 0
    seen = {path.name: path.read_bytes() for path in (folder / "private").iterdir()}
    given = (folder / named.split()[1]).read_bytes()
    command = [sys.executable, "-m", "stream_app", *dash.split()]
    ended = subprocess.run(command, input=given, capture_output=True, check=False, cwd=folder)
    assert ended.returncode == 0, ended.stderr
    assert {path.name: path.read_bytes() for path in (folder / "private").iterdir()} == seen


def test_what_waits_of_standard_input_is_private(folder: Path) -> None:
    """The file has mode 0600 and no name; if the process is killed, the file disappears with it."""
    command = [sys.executable, "-m", "stream_app", *REPLAY.replace("energy.csv", "-").split()]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder) as process:
        assert process.stdin is not None
        process.stdin.write(ENERGY.encode())
        process.stdin.flush()
        spools: list[Path] = []
        waited = time.monotonic() + 60
        while not spools and time.monotonic() < waited:
            with contextlib.suppress(FileNotFoundError):  # it closes some of its files while they are listed
                held = Path(f"/proc/{process.pid}/fd").iterdir()
                spools = [each for each in held if str(folder / "private") in str(each.readlink()) and each.is_file()]
            time.sleep(0.02)
        (spool,) = spools
        assert stat.S_IMODE(spool.stat().st_mode) == 0o600
        assert not list((folder / "private").iterdir()), "no name leads to it"
        process.kill()
    assert not (folder / "private").exists() or not list((folder / "private").iterdir())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_replay_leaves_nothing_and_says_so(number: signal.Signals, folder: Path) -> None:
    """Ctrl-C exits with 130 and a kill with 143; neither leaves a file, a folder or a traceback."""
    os.mkfifo(folder / "slow.csv")
    command = [sys.executable, "-m", "stream_app", *REPLAY.replace("energy.csv", "slow.csv").split()]
    with (
        subprocess.Popen(command, stderr=subprocess.PIPE, cwd=folder) as process,
        (folder / "slow.csv").open("wb") as pipe,  # opens when the command reads it
    ):
        pipe.write(ENERGY.encode())
        pipe.flush()
        time.sleep(0.5)  # it reads on, and waits for more
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    told = (
        "landmark-stream replay: interrupted: nothing was written and no budget was spent; run the same command again\n"
    )
    assert (process.returncode, err.decode()) == ((130, told) if number is signal.SIGINT else (143, ""))
    assert not (folder / "private").exists()


def test_a_folder_without_a_right_to_write(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message names the option, the problem and the remedy, for a user other than root."""
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    (folder / "shut").mkdir(mode=0o500)
    assert _run(REPLAY.replace("--out private", "--out shut/private")) == 2
    told = "--out shut/private: you do not have permission to write there; specify a writable folder"
    assert capsys.readouterr().err == f"landmark-stream replay: {told}\n"


def test_messages_hold_no_value(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message about a refused cell shows nothing of its content, and gives an example of the right form."""
    for cell in ("7391kWh", '"7,391"', "x7391", "2012-06-01T7391"):
        _write(folder / "energy.csv", f"time,kwh\n2012-06-01T16:00:00Z,{cell}\n")
        assert _run(REPLAY) == 2
        assert "7391" not in "".join(capsys.readouterr()).replace("7,391", "7391")
