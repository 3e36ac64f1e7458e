"""Mistakes in a notebook: each raises a library error that says what to do, and nothing is written."""

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import landmark_stream as ls
from stream_app.replaying.folder import ReplayFolder
from tests.api.conftest import HOUR, START

NUMBER = ls.Number(0, 10, 0.001)
Rows = list[dict[str, Any]]


def test_newest_first_is_refused_and_says_how_to_sort(rows: Rows, policy: ls.Policy, tmp_path: Path) -> None:
    """Nothing is spent on such a frame.

    The sorted frame continues when later rows arrive, wherever they were in the file.
    """
    frame, out = pd.DataFrame(rows), tmp_path / "run"
    with pytest.raises(ls.Error, match="is earlier than a processed row of its series \\(94 of 96 rows are") as no:
        ls.release(frame[::-1], policy, out=out)
    assert [fault.member for fault in no.value.faults] == ["row 2", "frame"], (
        "then that no landmark is among the rows that come in time"
    )
    assert 'sort them by time, for example with frame.sort_values("timestamp", kind="stable")' in str(no.value)
    assert not out.exists()
    with pytest.raises(ls.Error, match=r'frame\.sort\("timestamp", maintain_order=True\)'):
        ls.release(pl.DataFrame(rows[::-1]), policy, out=out)
    with pytest.raises(ls.Error, match=r'sorted\(rows, key=lambda row: row\["timestamp"\]\)'):
        ls.release(rows[::-1], policy, out=out)
    early = frame[::-1].tail(60).sort_values("timestamp", kind="stable")
    assert ls.release(early, policy, out=out).totals["rejected"] == 0
    assert ls.release(frame[::-1].sort_values("timestamp", kind="stable"), policy, out=out).totals["events"] == 96


def test_a_shuffled_row_is_refused_unless_rows_came_so(rows: Rows, policy: ls.Policy, tmp_path: Path) -> None:
    """One late row among many is also a mistake; for replayed arrivals it is allowed on request, and counted."""
    swapped = [*rows[:10], rows[12], *rows[10:12], *rows[13:]]
    with pytest.raises(ls.Error, match=r"^row 11: .* \(1 of 96 rows are\)"):
        ls.release(swapped, policy, out=tmp_path / "run")
    assert ls.release(swapped, policy, out=tmp_path / "run", late="reject").rejected == {"late": 1}
    assert ls.release(swapped, policy, out=tmp_path / "same", accept=["order"]).rejected == {"late": 1}
    wrong: Any = "sort"
    with pytest.raises(ls.Error, match=r"^accept: 'sort': unknown check; known checks are landmarks, times, order, "):
        ls.release(swapped, policy, out=tmp_path / "other", accept=wrong)
    with pytest.raises(ls.Error, match=r'^late: is neither "refuse" nor "reject"'):
        ls.release(swapped, policy, out=tmp_path / "other", late=wrong)


def test_rows_that_are_there_twice(rows: Rows, policy: ls.Policy, tmp_path: Path) -> None:
    """A frame appended to itself goes back in time, and the error says that rows repeat.

    Rows repeated side by side are duplicates.
    """
    with pytest.raises(ls.Error, match="96 repeat the time of an earlier row of their series, so drop duplicates"):
        ls.release(rows + rows, policy, out=tmp_path / "run")
    twice = [row for row in rows[::2] for _ in range(2)]
    with pytest.raises(ls.Error, match=r"frame: 48 of 96 rows would be rejected \(48 duplicate\)"):
        ls.release(twice, policy, out=tmp_path / "run")
    assert ls.release(twice, policy, out=tmp_path / "run", accept="refused").rejected == {"duplicate": 48}


def test_a_step_is_left_out_only_where_its_length_changes_nothing() -> None:
    """Windows, intervals and days count steps: 1 ms would protect nothing, or split epsilon over millions."""
    asked: dict[str, Any] = {"epsilon": 1, "value": NUMBER}
    evening = (START, START + 3 * HOUR)
    cases: tuple[tuple[Callable[[], ls.Policy], str], ...] = (
        (lambda: ls.Policy.landmark(**asked, landmarks=[evening]), "landmarks"),
        (lambda: ls.Policy.landmark(**asked, landmarks=[date(2026, 1, 31)], zone="UTC"), "landmarks"),
        (lambda: ls.Policy.landmark(**asked, landmarks=[START], window=24), "window"),
        (lambda: ls.Policy.w_event(**asked, window=24), "window"),
        (lambda: ls.Policy.user(**asked, length=24), "length"),
        (lambda: ls.Policy.event(**asked, within=ls.Within("mean", 2)), "within"),
    )
    for make, because in cases:
        with pytest.raises(
            ls.Error,
            match=rf"^step: is missing \(1 ms\), but these depend on the step: {because}; .*timedelta\(hours=1\)",
        ):
            make()
    assert ls.Policy.landmark(**asked, landmarks=[START]).record["protection"].keys() == {"level", "landmarks"}
    assert ls.Policy.landmark(**asked, landmarks=[evening], step=1).record["protection"]["step"] == 1


def test_a_step_that_is_too_short_is_told(rows: Rows, tmp_path: Path) -> None:
    """With hourly readings, a step of a millisecond reserves budget for landmarks that no reading meets."""
    evening = (START + 17 * HOUR, START + 20 * HOUR)
    policy = ls.Policy.landmark(epsilon=1, value=NUMBER, landmarks=[evening], step=1)
    found = ls.release(rows, policy, out=tmp_path)
    assert any("a step of home-1 lasts 1 ms, but its events are 1 h apart" in note for note in found.notes)
    assert "the step may be too short" in str(found)


@pytest.mark.parametrize("frame", [[], pd.DataFrame(), pl.DataFrame(), pd.DataFrame(columns=["series", "timestamp"])])
def test_a_frame_without_rows(frame: Any, policy: ls.Policy, tmp_path: Path) -> None:
    """It is refused, because it would say nothing later."""
    with pytest.raises(ls.Error, match=r"^frame: has no row"):
        ls.release(frame, policy, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_names_that_are_no_texts(rows: Rows, policy: ls.Policy, tmp_path: Path) -> None:
    """Integer series are the most common case: the error names the column to convert to strings."""
    with pytest.raises(ls.Error, match=r"series contains no strings; convert it to strings, for example with str\(\)"):
        ls.release([row | {"series": 7} for row in rows[::2]], policy, out=tmp_path / "run")
    nothing: Any = None
    for asked, member in (
        ({"series": 7}, "series"),
        ({"series": ""}, "series"),
        ({"value_columns": nothing}, "value_columns"),
        ({"value_columns": ["value", 5]}, r"value_columns\.1"),
        ({"value_columns": []}, "value_columns"),
        ({"timestamp_column": ["timestamp"]}, "timestamp_column"),
        ({"out": nothing}, "out"),
        ({"out": "a\0b"}, "out"),
        ({"key": 5}, "key"),
    ):
        given: dict[str, Any] = {"out": tmp_path / "run"} | asked
        with pytest.raises(ls.Error, match=f"^{member}: "):
            ls.release(rows, policy, **given)
    with pytest.raises(ls.Error, match=r"^policy: is of type NoneType"):
        ls.release(rows, nothing, out=tmp_path / "run")


def test_a_changed_row_in_the_middle_is_refused(rows: Rows, policy: ls.Policy, tmp_path: Path) -> None:
    """This also holds if rows were added after it; the folder stays unchanged."""
    ls.release(rows, policy, out=tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    longer = [*rows, {"series": "home-1", "timestamp": START + 48 * HOUR, "value": 1.0}]
    for changed in (longer, rows):
        middle = [*changed[:40], changed[40] | {"value": 7.00019}, *changed[41:]]
        with pytest.raises(
            ls.Error, match=r"the first 96 records are not those of the latest run.* another folder"
        ) as no:
            ls.release(middle, policy, out=tmp_path)
        assert "7.00019" not in str(no.value)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_two_kernels_at_once(rows: Rows, policy: ls.Policy, tmp_path: Path) -> None:
    """The second is told to wait, and nothing tells it to replace what the first is working on."""
    with (
        ReplayFolder.claimed(tmp_path),
        pytest.raises(ls.Error, match="another run is using the folder; wait for it") as no,
    ):
        ls.release(rows, policy, out=tmp_path)
    assert "replace" not in str(no.value)


@pytest.mark.parametrize("rest", [0, 20])
@pytest.mark.parametrize("decided", [True, False])
def test_a_damaged_key(rest: int, decided: bool, rows: Rows, policy: ls.Policy, tmp_path: Path) -> None:  # noqa: FBT001
    """It is refused with a remedy; with replace, all old files, even the key, are set aside with their modes."""
    ls.release(rows, policy, out=tmp_path)
    if not decided:
        for path in tmp_path.iterdir():
            path.unlink() if path.name != "replay.key" else None
    key, before = tmp_path / "replay.key", {path.name for path in tmp_path.iterdir()}
    key.write_bytes(key.read_bytes()[:rest])
    with pytest.raises(
        ls.Error, match=r"is not a key file of format 1; restore it from a backup.*use another folder, or"
    ):
        ls.release(rows, policy, out=tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == before
    found = ls.release(rows, policy, out=tmp_path, replace=True)
    assert "both budgets are spent" in str(found)
    assert ls.audit(tmp_path)
    assert {path.name for path in tmp_path.glob("*.1")} == {f"{name}.1" for name in before}
    assert (tmp_path / "replay.key.1").stat().st_mode & 0o777 == 0o600
    assert len((tmp_path / "replay.key.1").read_bytes()) == rest


def test_a_run_that_fails_leaves_no_key(rows: Rows, policy: ls.Policy, tmp_path: Path) -> None:
    """A key is written whole under another name, and removed with a folder in which nothing was decided."""
    with pytest.raises(ls.Error):
        ls.release(rows[::-1], policy, out=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "asked",
    [
        ls.audit,
        lambda _: ls.audit(None),  # type: ignore[arg-type]
        lambda frame: ls.audit(".", releases=frame),
        lambda frame: ls.standing(frame, "home-1"),
        ls.read_releases,
        ls.Policy.load,
    ],
)
def test_frames_are_no_files(asked: Callable[[Any], Any], rows: Rows) -> None:
    """The error says what to give instead."""
    with pytest.raises(ls.Error, match=r"is of type (DataFrame|NoneType), not a file or folder; use "):
        asked(pd.DataFrame(rows))


def test_figures_that_are_none(rows: Rows, policy: ls.Policy, tmp_path: Path) -> None:
    """The error names each invalid argument."""
    found, wrong = ls.release(rows, policy, out=tmp_path), float("nan")
    odd: Any = "x"
    five: Any = 5
    listed: Any = [["series"]]
    for asked, member in (
        (lambda: ls.audit(found, lifetime=wrong), "lifetime"),
        (lambda: ls.standing(found, "home-1", lifetime=odd), "lifetime"),
        (lambda: ls.standing(found, "home-1", separator=five), "separator"),
        (lambda: ls.plan(policy, steps=odd), "steps"),
        (lambda: ls.plan(policy, every_ms=0), "every_ms"),
        (lambda: ls.plan(policy, start=listed), "start"),
        (lambda: ls.plan(policy, error=1), "error"),
        (lambda: ls.verify(policy, runs=0), "runs"),
        (lambda: ls.mean(found, by=five), "by"),
        (lambda: ls.mean(found, by=listed), "by"),
        (lambda: ls.mean(found, by="hour", zone="Mars"), "zone"),
        (lambda: ls.read_releases(tmp_path, library=odd), "library"),
    ):
        with pytest.raises(ls.Error, match=f"^{member}: "):
            asked()
    with pytest.raises(ls.Error, match=r"^steps: .* the time between them \(every_ms\)"):
        ls.plan(policy, steps=10**12)
