"""The harness finds errors in a page; each test gives it a page with one error."""

import os
from pathlib import Path

import pytest

from tests.docs.page import PageError, blocks_of
from tests.docs.reader import Reader
from tests.docs.transcript import agrees
from tests.patience import PATIENCE_SECONDS, awaited

pytestmark = pytest.mark.slow


def said(folder: Path, markdown: str, seconds: float = PATIENCE_SECONDS) -> str | None:
    """Return the complaint of a page's reader."""
    return Reader(folder, "trial").follow(blocks_of(markdown), seconds, 2.0)


def sh(commands: str, attributes: str = "") -> str:
    """Return a block of commands."""
    return f"```sh{attributes}\n{commands}\n```\n"


def text(shown: str) -> str:
    """Return a block of output."""
    return f"```text\n{shown}\n```\n"


def test_a_true_page_passes(tmp_path: Path) -> None:
    """Files, variables, folders and both channels carry over from block to block."""
    page = '```json file="a/b.json"\n{"x": 1}\n```\n' + sh("cd a; found=$(cat b.json)")
    assert said(tmp_path, page + sh('echo "$found"; echo oops >&2') + "Prints:\n\n" + text('{"x": …}\noops')) is None


@pytest.mark.parametrize(
    "page",
    [
        sh("false"),
        sh("false | true"),
        sh('echo "$unset"'),
        sh("if true"),
        sh("echo a") + text("b"),
        sh("echo a; echo b") + text("a"),
        sh("echo a") + text("a\nb"),
        sh("echo a") + sh("echo b") + text("a"),
        sh("exit 2", ' exit="1"'),
        sh("true", ' exit="1"'),
        sh("false; true", ' exit="0"'),
    ],
)
def test_a_false_page_does_not(tmp_path: Path, page: str) -> None:
    """A failing command, a different output and a different exit code are each reported."""
    complaint = said(tmp_path, page)
    assert complaint is not None
    assert complaint.startswith("line ")


@pytest.mark.parametrize(
    "page",
    [
        sh("echo a")[:-5],
        sh("echo a") + text("…"),
        sh("echo a") + text("│ … │\n…"),
        text("a"),
        sh("echo a") + "```\nb\n```\n",
        sh("echo a", ' skip="no"'),
        sh("echo a", " if=1"),
        '```text file="x"\na\n```\n',
        sh("echo a | jq ."),
        sh("bash examples/kcat/produce.sh", ' needs="kcat"'),
        sh("echo a", ' needs="jq"'),
    ],
)
def test_a_page_that_proves_nothing_is_refused(page: str) -> None:
    """Blocks that are unclosed, hide everything, belong to nothing, or lack a reason for a skip are refused."""
    with pytest.raises(PageError):
        blocks_of(page)


def test_a_page_names_the_programs_that_it_needs() -> None:
    """It also names those of the examples that it runs; a skipped block needs none."""
    page = sh("bash examples/kcat/produce.sh", ' needs="kcat jq"') + sh("zsh", ' skip="nobody is there to type"')
    assert [sorted(block.needs) for block in blocks_of(page)] == [["jq", "kcat"], []]


def test_skipped_blocks_are_not_run(tmp_path: Path) -> None:
    """The output after a skipped block is not compared either."""
    assert said(tmp_path, sh("false", ' skip="it has no reason to"') + text("anything") + sh("true")) is None


def test_an_expected_exit_code_is_one(tmp_path: Path) -> None:
    """Its output is compared like any other."""
    assert said(tmp_path, sh("echo a; exit 3", ' exit="3"') + text("a")) is None
    (tmp_path / "again").mkdir()
    assert said(tmp_path / "again", sh("echo a; exit 3", ' exit="3"') + text("b")) is not None


def test_a_page_that_hangs_is_ended(tmp_path: Path) -> None:
    """The complaint names the block."""
    complaint = said(tmp_path, sh("true") + sh("echo begun; sleep 600"), 5.0)
    assert complaint is not None
    assert "line 4: did not end within 5 s:\nbegun" in complaint


@pytest.mark.parametrize("polite", [True, False])
def test_what_a_page_starts_ends_with_it(tmp_path: Path, *, polite: bool) -> None:
    """This also holds for a process that ignores the signal."""
    trap = "" if polite else 'trap "" TERM; '
    started = f"bash -c '{trap}echo $$ > pid; while true; do sleep 1; done' &"
    assert said(tmp_path, sh(f"{started}\nuntil [[ -s pid ]]; do sleep 0.05; done")) is None
    pid = int((tmp_path / "page" / "pid").read_text())
    awaited(lambda: not _alive(pid))


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not (state.exists() and ") Z " in state.read_text())


def test_defaults_are_what_pages_show(tmp_path: Path) -> None:
    """A page shows the defaults; its commands use separate topics and a separate port, and no other Kafka."""
    assert (
        said(
            tmp_path,
            sh("echo landmark.events 127.0.0.1:9464 > named; cat named") + text("landmark.events 127.0.0.1:9464"),
        )
        is None
    )
    assert (tmp_path / "page" / "named").read_text().startswith("docs-trial.events 127.0.0.1:")
    assert "9464" not in (tmp_path / "page" / "named").read_text()


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a … c", "a b c", True),
        ("a … c", "a b d", False),
        ("a…", "a\nb", False),
        ("a\n…\nd", "a\nb\nc\nd\n", True),
        ("a\n…\nd", "a\nd", True),
        ("a\n…\nd", "a\nb\nc", False),
        ("…\nd", "a\nd", True),
        ("a.c", "abc", False),
        ("a  \n", "a\n\n", True),
        ("a\n\nb", "a\nb", False),
    ],
)
def test_ellipses(shown: str, printed: str, *, same: bool) -> None:
    """They match text in a line, or whole lines, and nothing else."""
    assert agrees(shown, printed) is same
