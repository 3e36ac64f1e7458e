"""Cells, columns and policy members in any library's types are what they look like, or named in an error."""

from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import landmark_stream as ls
from stream_app.replaying.doubts import CHECKS
from tests.api.conftest import HOUR, START

NUMBER = ls.Number(0, 10, 0.001)
Rows = list[dict[str, Any]]


def policy_of(**members: Any) -> ls.Policy:
    """Return a policy of some members."""
    given: dict[str, Any] = {"epsilon": 1, "value": NUMBER, "step": HOUR, "landmarks": [START]}
    return ls.Policy.landmark(**given | members)


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({"epsilon": float("nan")}, "epsilon: use a number"),
        ({"epsilon": float("inf")}, "epsilon: use a number"),
        ({"epsilon": Decimal("NaN")}, "epsilon: use a number"),
        ({"epsilon": -1}, "epsilon: use a number above 0"),
        ({"epsilon": "1"}, "epsilon: found text; use a number"),
        ({"epsilon": {1, 2}}, "epsilon: is of type set, which a policy cannot contain;"),
        ({"step": "an hour"}, r'step: is not a length of time; use text such as "5min", a timedelta such as'),
        ({"step": timedelta(microseconds=1500)}, "step: is not a whole number of milliseconds"),
        ({"step": -HOUR}, "step: is not a whole number"),
        ({"step": float("nan")}, "step: is not a whole number"),
        ({"landmarks": None}, "landmarks: is not a list"),
        ({"landmarks": START}, "landmarks: is not a list"),
        ({"landmarks": {START}}, "landmarks: is not a list"),
        ({"landmarks": "2026-01-31"}, "landmarks: is not a list"),
        ({"landmarks": pd.DataFrame({"a": [1]})}, "landmarks: is not a list"),
        ({"landmarks": (START, START + HOUR)}, r"landmarks: is ambiguous; use \[\(start, end\)\]"),
        ({"landmarks": [pd.Timestamp("2026-01-31")]}, r"landmarks\.0: is a time without a zone"),
        ({"landmarks": [np.datetime64("2026-01-31T03:00", "ns")]}, r"landmarks\.0: is a time without a zone"),
        ({"landmarks": [pd.NaT]}, r"landmarks\.0: has no time"),
        ({"landmarks": [pd.Interval(0, 1)]}, r"landmarks\.0: is of type Interval"),
        ({"landmarks": ["\ud800"]}, r"landmarks\.0: is of type str"),
        ({"series": "\ud800"}, "series: is of type str"),
        ({"value": ls.Category({"a", "b"})}, "categories: is of type set"),  # type: ignore[arg-type]
    ],
)
def test_members_of_a_policy_that_are_none(members: dict[str, Any], told: str) -> None:
    """The error names each of them."""
    with pytest.raises(ls.Error, match=f"^(protection.)?{told}"):
        policy_of(**members)


def test_members_of_a_policy_in_other_types() -> None:
    """Numbers and times of other libraries are read as what they look like."""
    same = policy_of(landmarks=[START, START + HOUR])
    hours = pd.date_range(START, periods=2, freq="h")
    for landmarks in (hours, pd.Series(hours), pl.Series([START, START + HOUR])):
        assert policy_of(landmarks=landmarks) == same
    for epsilon in (Decimal(1), Fraction(1), np.float32(1), np.int64(1)):
        assert policy_of(epsilon=epsilon, landmarks=[START, START + HOUR]).epsilon == 1
    for step in (
        np.timedelta64(1, "h"),
        np.timedelta64(1, "h").astype("timedelta64[ns]"),
        pd.Timedelta("1h"),
        3_600_000,
    ):
        assert policy_of(step=step, landmarks=[START, START + HOUR]) == same
    keys: Any = np.array(["a", "b"])
    assert ls.Policy.event(epsilon=1, value=ls.Counts(keys)).record["value"]["keys"] == ["a", "b"]
    with pytest.raises(ls.Error, match=r"^policy: is of type list"):
        ls.Policy([])  # type: ignore[call-overload]


class Odd:
    """What no library knows."""


ALL: Any = tuple(CHECKS)
ODD: list[Any] = [
    10**5000,
    -(10**400),
    "\ud800",
    [1, 2],
    np.array([1, 2]),
    b"x",
    1 + 2j,
    pd.NA,
    pd.NaT,
    Odd(),
    {1, 2},
    range(3),
    {1: 2},
    {"\ud800": Decimal("sNaN")},
    [np.float64(1), Decimal(1)],
    float("inf"),
    Decimal("Infinity"),
    np.datetime64("2026-01-01", "ns"),
    timedelta(1),
    START,
]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: type(odd).__name__)
def test_cells_of_any_type(odd: Any, rows: Rows, policy: ls.Policy, tmp_path: Path) -> None:
    """A cell that is not a number is an invalid value; an invalid time is reported with its row."""
    for column in ("value", "series", "timestamp", "type"):
        changed = [*rows[:4], rows[4] | {column: odd}]
        if column == "timestamp" and odd is not START:
            with pytest.raises(ls.Error, match=r"^row 4: "):
                ls.release(changed, policy, out=tmp_path / column)
            continue
        found = ls.release(changed, policy, out=tmp_path / column, accept=ALL)
        assert found.rejected.keys() <= ({"invalid-value"} if column == "value" else {"malformed", "no-policy", "late"})
        assert column != "value" or found.rejected == {"invalid-value": 1}


@pytest.mark.parametrize(
    "same", [Decimal("2.5"), Fraction(5, 2), np.float32(2.5), np.float64(2.5), np.longdouble(2.5), np.array(2.5)]
)
def test_numbers_of_any_type_are_the_number(same: Any, rows: Rows, policy: ls.Policy, tmp_path: Path) -> None:
    """They make the same records, so a folder can continue with them."""
    ls.release([*rows[:4], rows[4] | {"value": 2.5}], policy, out=tmp_path, accept=ALL)
    before = (tmp_path / "releases.jsonl").read_bytes()
    ls.release([*rows[:4], rows[4] | {"value": same}], policy, out=tmp_path, accept=ALL)
    assert (tmp_path / "releases.jsonl").read_bytes() == before


def test_integers_beyond_64_bits_are_what_a_file_has(rows: Rows, policy: ls.Policy, tmp_path: Path) -> None:
    """A JSON reader reads them as doubles, which are clamped like any number outside the range."""
    ls.release([rows[0] | {"value": 1e30}], policy, out=tmp_path, accept=ALL)
    found = ls.release([rows[0] | {"value": 10**30}], policy, out=tmp_path, accept=ALL)
    assert found.totals["perturbed"] == 1


def test_frames_of_any_type(rows: Rows, policy: ls.Policy, tmp_path: Path) -> None:
    """Categorical, nullable, arrow and decimal columns, and times in any zone, give the same bytes."""
    plain = [row | {"value": 2.5} for row in rows]
    frame, polar = pd.DataFrame(plain), pl.DataFrame(plain)
    ls.release(plain, policy, out=tmp_path)
    before = (tmp_path / "releases.jsonl").read_bytes()
    same: list[Any] = [
        frame.assign(series=frame.series.astype("category")),
        frame.convert_dtypes(),
        frame.convert_dtypes(dtype_backend="pyarrow"),
        frame.assign(timestamp=frame.timestamp.dt.tz_convert("Europe/Paris")),
        frame.set_index("timestamp", drop=False),
        frame.set_index(["series", "timestamp"]),
        polar.with_columns(pl.col("series").cast(pl.Categorical)),
        polar.with_columns(pl.col("value").cast(pl.Decimal(10, 3))),
    ]
    for each in same:
        ls.release(each, policy, out=tmp_path)
        assert (tmp_path / "releases.jsonl").read_bytes() == before
    with pytest.raises(ls.Error, match="row 0: is a time without a zone"):
        ls.release(frame.assign(timestamp=frame.timestamp.dt.tz_localize(None)), policy, out=tmp_path / "naive")
    with pytest.raises(ls.Error, match="frame: has two columns with the same name"):
        ls.release(pd.concat([frame, frame], axis=1), policy, out=tmp_path / "twice")
