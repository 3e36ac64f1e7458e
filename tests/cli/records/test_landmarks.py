"""``landmarks``: what is refused and what would be sent; tests/kafka/test_worker.py shows how it waits."""

import json
from pathlib import Path

import pytest

from stream_app.cli import main
from tests.command import Cli

SUMMER = '{"weekly":["sat"],"from":"22:00","to":"06:00","first":"2026-07-04","last":"2026-07-11"}'


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Name unreachable brokers: a message about them shows that something was to be sent."""
    monkeypatch.setenv("LANDMARK_STREAM_BOOTSTRAP_SERVERS", "127.0.0.1:1")


def test_dry_run_prints_the_record(tmp_path: Path, cli: Cli) -> None:
    """All named times form one record of integers; they are also given in words, by the named zone's clocks."""
    calendar = tmp_path / "mine.ics"
    calendar.write_text("BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;VALUE=DATE:20260715\nEND:VEVENT\nEND:VCALENDAR\n")
    words = ["landmarks", "home-7", "--add", "1783008000000", SUMMER, "--ics", str(calendar), "--zone", "Europe/Paris"]
    said, record = cli(*words, "--dry-run").out.splitlines()
    assert said == "home-7: 4 landmarks, 2026-07-02T18:00+02:00 to 2026-07-16T00:00+02:00, 1 d 16 h in total"
    assert json.loads(record) == {
        "type": "landmarks",
        "series": "home-7",
        "add": [
            1783008000000,
            [1783195200000, 1783224000000],
            [1783800000000, 1783828800000],
            [1784066400000, 1784152800000],
        ],
    }
    assert cli(*words, "--dry-run", "--json").out == record + "\n"
    assert "brokers at 127.0.0.1:1" in cli(*words, code=2).err


def test_a_moment_that_looks_like_seconds_is_said(cli: Cli) -> None:
    """It is sent nevertheless, because nobody can be sure."""
    said = cli("landmarks", "home-7", "--add", "1783008000", "--dry-run", "--json")
    assert json.loads(said.out)["add"] == [1783008000]
    assert "1783008000 looks like seconds: in milliseconds it is 1970-01-21T15:16:48Z" in said.err
    assert "for 2026-07-02T16:00Z, use 1783008000000" in said.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "nothing to register; add --add TIME or --ics FILE"),
        (["--add", "2026-07-02"], '--add 2026-07-02: found "2026-07-02"; add a zone'),
        (["--add", "soon", "5", "7/2"], '--add soon: found "soon"; use ISO 8601'),
        (["--add", "5", '{"weekly":["sat"]'], '--add {"weekly":["sat"]: found'),
        (["--add", '{"dates":[]}'], '--add {"dates":[]}: zone: found nothing'),
        (["--add", "5", "--ics", "none.ics"], '--ics none.ics: found "none.ics"; there is no such file'),
        (["--add", "5", "--zone", "Mars"], '--zone: found "Mars"; use a zone'),
        (["--add", "5", "--wait", "0"], "--wait 0: use an interval above 0 seconds"),
        (["--add", "253402300800000"], "use times from 1970 to 9999"),
    ],
)
def test_what_is_wrong_is_told(words: list[str], said: str, cli: Cli) -> None:
    """Errors quote the words that were typed; nothing is sent, with or without --dry-run."""
    for more in ([], ["--dry-run"]):
        assert said in cli("landmarks", "home-7", *words, *more, code=2).err


def test_all_of_it_is_told_at_once(tmp_path: Path, cli: Cli) -> None:
    """Errors in every word and every event of a calendar are reported together."""
    calendar = tmp_path / "mine.ics"
    calendar.write_text("BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;VALUE=DATE:20260715\nEND:VEVENT\nEND:VCALENDAR\n")
    said = cli("landmarks", "home-7", "--add", "soon", "2026-07-02", "--ics", calendar, code=2).err.splitlines()
    assert [line.partition(": found")[0] for line in said] == [
        "landmark-stream landmarks: --add soon",
        "--add 2026-07-02",
        f"--ics {calendar}: events.0.DTSTART",
    ]


def test_a_series_is_one(cli: Cli) -> None:
    """Of 1 to 200 bytes."""
    for name in ("", "x" * 201):
        assert (
            "is not a valid series id; use 1 to 200 bytes"
            in cli("landmarks", name, "--add", "5", "--dry-run", code=2).err
        )


def test_more_than_a_record_holds(cli: Cli) -> None:
    """The message gives the size that the record would have."""
    every = '{"weekly":["mon","wed","fri","sun"],"first":"1970-01-01","last":"2025-12-31","from":"01:00","to":"02:00"}'
    assert main(["landmarks", "home-7", "--add", every, "--zone", "UTC", "--dry-run"]) == 2
    assert "bytes, but a record can have at most 262,144; register them with several commands" in cli.said().err
