"""Frames of any library become releases under the rules of `replay`, byte for byte."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import landmark_stream as ls
from stream_app.cli import main
from tests.api.conftest import HOUR, START
from tests.command import saved

Rows = list[dict[str, Any]]
LIBRARIES: dict[str, Callable[[Rows], Any]] = {
    "rows": lambda rows: rows,
    "pandas": pd.DataFrame,
    "indexed": lambda rows: pd.DataFrame(rows).set_index("timestamp"),
    "polars": pl.DataFrame,
}
OUTPUTS = ("releases.jsonl", "ledger.jsonl", "rejects.jsonl")


def written(folder: Path) -> dict[str, bytes]:
    """Return the outputs of a folder."""
    return {name: (folder / name).read_bytes() for name in OUTPUTS}


@pytest.mark.parametrize("library", LIBRARIES)
def test_as_replay_decides_a_file(library: str, rows: Rows, policy: ls.Policy, tmp_path: Path) -> None:
    """With the same key, a frame and the file of its events give the same bytes."""
    main(["keys", "new", str(tmp_path / "a.key")])
    ls.release(LIBRARIES[library](rows), policy, out=tmp_path / "frame", key=tmp_path / "a.key")
    events = [row | {"timestamp": int(row["timestamp"].timestamp() * 1000)} for row in rows]
    options = ["--policies", saved(tmp_path / "policies.jsonl", policy.record), "--key", str(tmp_path / "a.key")]
    assert main(["replay", saved(tmp_path / "events.jsonl", *events), "--out", str(tmp_path / "file"), *options]) == 0
    assert written(tmp_path / "frame") == written(tmp_path / "file")


def test_a_cell_run_twice_spends_nothing_twice(rows: Rows, policy: ls.Policy, tmp_path: Path) -> None:
    """In any library, the same rows give the same bytes, and more rows continue them.

    `replay` accepts the folder as its own.
    """
    first = ls.release(rows, policy, out=tmp_path)
    before = written(tmp_path)
    for library in LIBRARIES.values():
        again = ls.release(library(rows), policy, out=tmp_path)
        assert written(tmp_path) == before
        assert again.totals == first.totals
    more = ls.release([*rows, {"series": "home-1", "timestamp": START + 48 * HOUR, "value": 1.0}], policy, out=tmp_path)
    assert (tmp_path / "ledger.jsonl").read_bytes().startswith(before["ledger.jsonl"])
    assert more.totals["events"] == len(rows) + 1


def test_a_changed_row_is_refused(rows: Rows, policy: ls.Policy, tmp_path: Path) -> None:
    """A folder takes no other input and loses nothing; with replace, both budgets are spent, as a note says."""
    ls.release(rows, policy, out=tmp_path)
    before = written(tmp_path)
    changed = [rows[0] | {"value": 9.87654}, *rows[1:]]
    with pytest.raises(ls.Error, match="are not those of the latest run") as refused:
        ls.release(changed, policy, out=tmp_path)
    assert [fault.member for fault in refused.value.faults] == ["out"]
    assert "--" not in str(refused.value)
    assert "9.87654" not in str(refused.value)
    assert written(tmp_path) == before
    with pytest.raises(ls.Error, match="policies, configuration"):
        ls.release(rows, [ls.Policy(policy.record | {"epsilon": 1})], out=tmp_path)
    replaced = ls.release(changed, policy, out=tmp_path, replace=True)
    assert "both budgets are spent" in str(replaced)
    assert (tmp_path / "ledger.jsonl.1").read_bytes() == before["ledger.jsonl"]


def test_frames_come_out_as_they_came_in(rows: Rows, policy: ls.Policy, tmp_path: Path) -> None:
    """Releases contain landmark flags, times and intervals, in the input's library."""
    found = ls.release(pd.DataFrame(rows), policy, out=tmp_path)
    frame = found.frame
    assert isinstance(frame, pd.DataFrame)
    assert isinstance(ls.release(pl.DataFrame(rows), policy, out=tmp_path).frame, pl.DataFrame)
    assert isinstance(ls.release(rows, policy, out=tmp_path).frame, list)
    assert list(frame.columns) == [
        *("series", "timestamp", "decision", "policy", "landmark", "value", "measurement"),
        *("standard_error", "low", "high", "fourth_cumulant", "grid", "scale", "epsilon"),
    ]
    evening = frame["timestamp"].between(START + 17 * HOUR, START + 20 * HOUR, inclusive="left")
    assert (frame["landmark"] == evening).all()
    assert ((frame["high"] - frame["measurement"]) > 2.9 * frame["scale"]).all()
    assert found.rejected == {}


def test_mapping_of_policies_and_one_series(rows: Rows, policy: ls.Policy, tmp_path: Path) -> None:
    """A mapping gives each series its own policy; rows of a single series need no series column."""
    weaker = ls.Policy.event(epsilon=1, value=ls.Number(0, 10, 0.001), step=HOUR)
    found = ls.release(rows, {"home-1": policy, "home-2": weaker}, out=tmp_path / "two")
    assert {row["landmark"] for row in found.releases if row["series"] == "home-2"} == {False}
    one = [{"timestamp": row["timestamp"], "kwh": row["value"]} for row in rows[::2]]
    named = ls.release(one, policy, out=tmp_path / "one", series="home-9", value_columns="kwh")
    assert {row["series"] for row in named.releases} == {"home-9"}
    with pytest.raises(ls.Error, match="no row was processed"):
        ls.release(rows, {"home-7": policy}, out=tmp_path / "none")


def test_several_columns_are_one_value(tmp_path: Path) -> None:
    """Parts, counts and positions are read from columns and written to columns."""
    pulse = [{"timestamp": START + nth * HOUR, "pulse": 60.0 + nth, "oxygen": 0.9} for nth in range(5)]
    kind = ls.Vector({"pulse": ls.Range(40, 200, 1), "oxygen": ls.Range(0.5, 1, 0.01)})
    policy = ls.Policy.event(epsilon=5, value=kind, step=HOUR)
    found = ls.release(pd.DataFrame(pulse), policy, out=tmp_path, series="p", value_columns=["pulse", "oxygen"])
    assert {"value_pulse", "measurement_oxygen", "low_pulse", "scale_oxygen"} <= set(found.frame.columns)
    assert ls.mean(found).columns == ["series", "landmark", "part", "mean", "standard_error", "low", "high", "steps"]


def test_contributions_and_watermarks(tmp_path: Path) -> None:
    """Rows of contributors are collected; a row with a type is used as a record unchanged."""
    policy = ls.Policy.event(
        epsilon=20,
        value=ls.Number(0, 10, 1),
        collect=ls.Collect("replace", 1, statistic="mean"),
        step=HOUR,
        scheme=ls.Uniform(),
    )
    rows: Rows = [{"type": "watermark", "timestamp": START}]
    rows += [{"timestamp": START, "who": f"m-{nth}", "value": nth % 3} for nth in range(300)]
    rows.append({"type": "watermark", "timestamp": START + HOUR})
    found = ls.release(rows, policy, out=tmp_path, series="ward", contributor_column="who")
    (released,) = found.releases
    again = ls.release(rows, policy, out=tmp_path, series="ward", contributor_column="who")
    assert again.releases.rows() == found.releases.rows()
    assert released["items"] == 300
    assert abs(released["measurement"] - 1) < 5 * (released["high"] - released["low"])  # all but surely


def test_columns_and_times_that_are_none(rows: Rows, policy: ls.Policy, tmp_path: Path) -> None:
    """Errors about a frame name its columns and rows, never its values, and nothing is written."""
    with pytest.raises(ls.Error) as refused:
        ls.release(pd.DataFrame(rows), policy, out=tmp_path / "out", value_columns="kwh", timestamp_column="time")
    assert [fault.member for fault in refused.value.faults] == ["timestamp_column", "value_columns"]
    for wrong, told in (
        (START.replace(tzinfo=None), "without a zone"),
        ("31.01.2026", "has no time"),
        (None, "has no time"),
        (1_769_817_600, "looks like seconds"),
    ):
        with pytest.raises(ls.Error, match=told) as refused:
            ls.release([rows[0], rows[1] | {"timestamp": wrong}], policy, out=tmp_path / "out")
        assert refused.value.faults[0].member == "row 1"
    with pytest.raises(ls.Error, match="is lazy"):
        ls.release(pl.DataFrame(rows).lazy(), policy, out=tmp_path / "out")  # type: ignore[arg-type]
    with pytest.raises(ls.Error, match="is not a frame"):
        ls.release("rows", policy, out=tmp_path / "out")  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


def test_what_is_no_value_is_rejected(rows: Rows, policy: ls.Policy, tmp_path: Path) -> None:
    """A missing value is treated like any producer's null: rejected, or replaced by the policy's substitute."""
    holes = pd.DataFrame([rows[0] | {"value": float("nan")}, *rows[1:4]])
    with pytest.raises(
        ls.Error, match=r"frame: 1 of 4 rows would be rejected \(1 invalid-value\); .* accept=\"refused\""
    ):
        ls.release(holes, policy, out=tmp_path, accept="landmarks")
    found = ls.release(holes, policy, out=tmp_path, accept=["landmarks", "refused"])
    assert (found.rejected, found.clamped) == ({"invalid-value": 1}, 0)


def test_nothing_shown_has_a_raw_value(rows: Rows, policy: ls.Policy, tmp_path: Path) -> None:
    """Text, HTML and terminal output show only releases and results derived from them; names are escaped."""
    name = "<script>alert(1)</script>"
    found = ls.release([row | {"series": name} for row in rows[::2]], policy, out=tmp_path)
    results: list[Any] = [found, found.releases, ls.mean(found), ls.smooth(found), ls.audit(found), ls.plan(policy)]
    results += [ls.standing(found, name), policy]
    for result in results:
        html = result._repr_html_()
        assert "<script>" not in html
        for text in (html, str(result), repr(result)):
            assert not any(str(row["value"]) in text for row in rows)
    assert "&lt;script&gt;" in found._repr_html_()


def test_column_names_may_be_values(policy: ls.Policy, tmp_path: Path) -> None:
    """In a file without a header, the first row's raw values become column names, so no error repeats them."""
    frame = pd.DataFrame([["2026-01-31T01:00:00Z", 7.00019]], columns=["2026-01-31T00:00:00Z", "6.00017"])
    with pytest.raises(ls.Error, match="not found among the 2 columns: kwh") as refused:
        ls.release(frame, policy, out=tmp_path, series="home-1", value_columns="kwh")
    assert "6.00017" not in str(refused.value)


def test_rows_that_are_all_refused_are_an_error(rows: Rows, policy: ls.Policy, tmp_path: Path) -> None:
    """The error names each reason with its remedy, and no value."""
    with pytest.raises(
        ls.Error, match=rf"^frame: no row was processed: {len(rows)} invalid-value: .*; what to do: "
    ) as no:
        ls.release([row | {"value": "1,5"} for row in rows], policy, out=tmp_path / "run")
    assert "1,5" not in str(no.value)


def test_numbers_that_are_text_are_named_by_their_column(policy: ls.Policy, tmp_path: Path) -> None:
    """A CSV reader gives text in every cell; the error names the column and says what to do."""
    lines = ["time,kwh", *(f"2026-01-05T{hour:02}:00:00Z,6.00017" for hour in range(3))]
    asked: dict[str, Any] = {"series": "home-1", "timestamp_column": "time", "value_columns": "kwh"}
    read = list(csv.DictReader(lines))
    with pytest.raises(ls.Error, match=r"kwh contains only strings; ") as no:
        ls.release(read, policy, out=tmp_path / "run", **asked)
    assert "6.00017" not in str(no.value)
    found = [row | {"kwh": float(row["kwh"])} for row in read]
    with pytest.raises(
        ls.Error, match=r'^frame: 0 of 3 landmark steps .*; if this is intended, use accept="landmarks"$'
    ):
        ls.release(found, policy, out=tmp_path / "run", **asked)
    assert not (tmp_path / "run").exists()
    ls.release(found, policy, out=tmp_path / "run", accept="landmarks", **asked)


def test_what_is_neither_frame_nor_policy(rows: Rows, policy: ls.Policy, tmp_path: Path) -> None:
    """Each of them raises a library error that says what was found and what to give."""
    wrong: Any = {"epsilon": 1}
    for asked in (
        lambda: ls.release(rows, wrong, out=tmp_path / "run"),
        lambda: ls.release(rows, [wrong], out=tmp_path / "run"),
        lambda: ls.plan(wrong),
    ):
        with pytest.raises(ls.Error, match=r"^policy: is of type (int|dict), not a Policy; create one with Policy\("):
            asked()
    with pytest.raises(ls.Error, match=r"^frame: is not a frame; use a pandas"):
        ls.release(pd.DataFrame(rows)["value"], policy, out=tmp_path / "run")


def test_steps_that_are_still_open_are_told(tmp_path: Path) -> None:
    """Nothing is lost silently: readings of the last step wait for a later reading or a watermark."""
    policy = ls.Policy.event(epsilon=1, value=ls.Number(0, 10, 0.001), step=HOUR, within=ls.Within("sum", 1))
    quarters: Rows = [
        {"series": series, "timestamp": START + nth * HOUR / 4, "value": 0.5}
        for series in ("a", "b")
        for nth in range(8)
    ]
    told = "2 steps are still open and have no release yet; a later reading or the record "
    assert told in str(ls.release(quarters, policy, out=tmp_path / "run"))
    end = [{"type": "watermark", "series": series, "timestamp": START + 2 * HOUR} for series in ("a", "b")]
    assert "still open" not in str(ls.release([*quarters, *end], policy, out=tmp_path / "run"))
