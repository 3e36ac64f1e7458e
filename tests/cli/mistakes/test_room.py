"""No room and no partial results: full disks, folders in use, processes that are ended."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from stream_app.cli import main
from stream_app.cli.shared.arguments import ENDED
from stream_app.replaying.folder import ReplayFolder
from tests.cli.mistakes.mistake import FILES, REPLAY
from tests.command import Cli
from tests.patience import ANSWER_SECONDS, awaited


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working folder for commands with the files of README."""
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        Path(name).write_text(str(content))
    return tmp_path


def limited(largest: int, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command with a limit on file sizes, which simulates a full disk, and without caches."""
    code = "import os, resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
    code += f"resource.setrlimit(resource.RLIMIT_FSIZE, ({largest}, {largest})); "
    code += "os.environ['MPLCONFIGDIR'] = sys.argv[1]; "
    code += "from stream_app.cli import main; sys.exit(main(sys.argv[2:]))"
    with tempfile.TemporaryDirectory() as caches:
        command = [sys.executable, "-c", code, caches, *words]
        return subprocess.run(command, capture_output=True, check=False, text=True)


WRITING = {
    "keys new landmark.key": "key file landmark.key: it cannot be written: file too large; choose a writable folder",
    "correlate --strength 0.5 --states 5 --out m.json": (
        "--out m.json: it cannot be written: file too large; specify a writable file"
    ),
    "plan policies.jsonl --picture a.svg": (
        "--picture a.svg: it cannot be written: file too large; specify a writable file"
    ),
    REPLAY: "key file private/replay.key: it cannot be written: file too large; choose a writable folder",
}


@pytest.mark.parametrize("command", WRITING)
def test_no_room_for_a_file(command: str, folder: Path) -> None:
    """One sentence is printed. No folder remains, nor a partial key, picture or matrix that seems complete."""
    before = set(folder.iterdir())
    ended = limited(10, *command.split())
    assert ended.returncode == 2
    assert ended.stderr == f"landmark-stream {command.split(maxsplit=1)[0]}: {WRITING[command]}\n"
    assert set(folder.iterdir()) == before


@pytest.mark.parametrize("command", ["plan policies.jsonl", "check policies.jsonl", "files", REPLAY])
def test_no_room_for_what_is_printed(command: str) -> None:
    """If standard output goes to a full disk, a sentence and exit code 2 follow, however late this is noticed."""
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "stream_app", *command.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            text=True,
        )
    told = "cannot write output: no space left on device; free up space, and run the same command again"
    assert ended.stderr.splitlines()[-1] == f"landmark-stream {command.split(maxsplit=1)[0]}: {told}"
    assert "Traceback" not in ended.stderr
    assert ended.returncode == 2


def test_no_room_for_the_last_file_of_a_replay(folder: Path, cli: Cli) -> None:
    """The previous run stays complete, and this run leaves nothing beside it."""
    assert main(REPLAY.split()) == 0
    seen = {path.name: path.read_bytes() for path in (folder / "private").iterdir()}
    (folder / "private" / "replay.json.new").symlink_to("/dev/full")
    with (folder / "energy.csv").open("a") as file:
        file.write("2012-06-01T19:00:00Z,1\n")
    told = "--out private: it cannot be written: no space left on device; specify a writable folder"
    assert cli(*REPLAY.split(), code=2).err.splitlines()[-1] == f"landmark-stream replay: {told}"
    assert {path.name: path.read_bytes() for path in (folder / "private").iterdir()} == seen


def test_a_full_disk_leaves_the_run_before(folder: Path) -> None:
    """Under a limit on file sizes, which simulates a full disk, old files stay and nothing is added."""
    assert main(REPLAY.split()) == 0
    seen = {path.name: path.read_bytes() for path in (folder / "private").iterdir()}
    with (folder / "energy.csv").open("a") as file:
        file.write("".join(f"2012-06-02T{hour:02}:00:00Z,1\n" for hour in range(24)))
    ended = limited(2000, *REPLAY.split())
    told = "--out private: it cannot be written: file too large; specify a writable folder"
    assert (ended.returncode, ended.stderr) == (2, f"landmark-stream replay: {told}\n")
    assert {path.name: path.read_bytes() for path in (folder / "private").iterdir()} == seen


def test_a_folder_twice_at_once(cli: Cli) -> None:
    """The second run is told to wait, and touches nothing."""
    with ReplayFolder.claimed(Path("private")):
        said = cli(*REPLAY.split(), code=2).err
    assert said == "landmark-stream replay: --out private: another `replay` is using the folder; wait for it\n"
    assert not any(Path("private").iterdir())


def partners(process: int) -> list[int]:
    """Return the processes that a process began for its work."""
    listed = Path(f"/proc/{process}/task/{process}/children")
    children = [int(child) for child in listed.read_text().split()]
    return [child for child in children if b"serve()" in Path(f"/proc/{child}/cmdline").read_bytes()]


def test_a_process_that_is_ended_from_outside() -> None:
    """If the system ends a process because memory is short, a sentence with the remedy replaces the traceback."""
    command = [sys.executable, "-m", "stream_app", "verify", "policies.jsonl", "--jobs", "2", "--runs", "1000000"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            os.kill(awaited(lambda: partners(process.pid)[1:])[0], signal.SIGKILL)
            _, err = process.communicate(timeout=ANSWER_SECONDS)
        finally:
            process.kill()
    assert (process.returncode, err) == (2, f"landmark-stream verify: {ENDED}\n")
