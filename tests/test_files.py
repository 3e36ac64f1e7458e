"""Files that exist whole or not at all, with the permissions that they had."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from stat import S_IMODE

import pytest

from stream_app.files import whole


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    """An error midway leaves the old file unchanged, and no other file beside it."""
    path = tmp_path / "report.html"

    def fail(error: type[BaseException]) -> None:
        with whole(path) as beside:
            beside.write_text("half")
            raise error

    with pytest.raises(KeyboardInterrupt):
        fail(KeyboardInterrupt)
    assert list(tmp_path.iterdir()) == []
    with whole(path) as beside:
        assert beside.suffix == ".html"
        beside.write_text("first")
        assert not path.exists()
    with pytest.raises(ZeroDivisionError):
        fail(ZeroDivisionError)
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]
    assert path.read_text() == "first"


def test_a_new_file_has_the_rights_of_the_old_one(tmp_path: Path) -> None:
    """An owner-only file stays so, from the first byte on; a file with a new name follows the umask."""
    path = tmp_path / "report.html"
    path.touch()
    path.chmod(0o600)
    with whole(path) as beside:
        assert S_IMODE(beside.stat().st_mode) == 0o600
        beside.write_text("new")
    assert S_IMODE(path.stat().st_mode) == 0o600
    with whole(tmp_path / "other.html") as beside:
        beside.write_text("new")
    (plain := tmp_path / "plain").touch()
    assert (tmp_path / "other.html").stat().st_mode == plain.stat().st_mode


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """Its target is written, and the temporary file is beside the target."""
    (tmp_path / "there").mkdir()
    real, link = tmp_path / "there" / "real.html", tmp_path / "link.html"
    real.write_text("old")
    link.symlink_to(real)
    with whole(link) as beside:
        assert beside.parent == real.parent
        beside.write_text("new")
    assert link.is_symlink()
    assert real.read_text() == "new"


def test_links_in_a_circle_lead_to_no_file(tmp_path: Path) -> None:
    """The written file replaces the named link."""
    link = tmp_path / "link"
    link.symlink_to(link)
    with whole(link) as beside:
        beside.write_text("new")
    assert not link.is_symlink()
    assert link.read_text() == "new"


def test_two_runs_write_files_of_their_own(tmp_path: Path) -> None:
    """The run that ends later has its file there, whole."""
    path = tmp_path / "report.html"
    with whole(path) as one, whole(path) as other:
        one.write_text("one" * 1000)
        other.write_text("other")
        assert one != other
    assert path.read_text() == "one" * 1000
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


def test_a_pipe_is_written_as_it_is(tmp_path: Path) -> None:
    """Nothing takes its place."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with whole(path) as given:
        assert given == path
    assert path.is_fifo()


def test_an_error_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    """It does not name the temporary file."""
    path = tmp_path / "no-folder" / "report.html"
    with pytest.raises(FileNotFoundError) as error, whole(path):
        pass
    assert error.value.filename == str(path)


def test_a_killed_run_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    """The next run writes it."""
    path = tmp_path / "report.html"
    path.write_text("old")
    program = (
        "import os, signal, sys; from pathlib import Path; from stream_app.files import whole\n"
        "with whole(Path(sys.argv[1])) as beside:\n"
        "    beside.write_text('half'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_text() == "old"
    with whole(path) as beside:
        beside.write_text("new")
    assert path.read_text() == "new"
