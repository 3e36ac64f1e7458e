"""Data frames of releases: the content of each column, in pandas and in polars."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import pandas_frame
import polars_frame
import release
import rows
from tests.collected import STEP, contribution, watermark
from tests.deploy import ROOT
from tests.examples.published import Published
from tests.kafka.installation import START_MS
from tests.run import Run, policy

SCHEMA_EXAMPLES = sorted((ROOT / "schemas" / "examples" / "release" / "valid").glob("*.json"))
NOON = {"series": "home-7", "timestamp": START_MS + 1, "policy": 2}


def parsed(**members: object) -> release.Release:
    """Return the example's parsed form of a release with these members."""
    return release.parse(json.dumps(NOON | members).encode())


@pytest.fixture(scope="module")
def releases(published: Published) -> list[release.Release]:
    """Return the releases from which the frames are built."""
    return asyncio.run(rows.read(*published.place))


@pytest.mark.parametrize("file", SCHEMA_EXAMPLES, ids=lambda file: file.stem)
def test_every_release_of_the_schema_is_known(file: Path) -> None:
    """The example can parse everything in today's schema."""
    document = json.loads(file.read_bytes())
    found = release.parse(file.read_bytes())
    assert type(found).__name__.lower() == document["decision"]
    assert rows.row(found)["timestamp"].timestamp() * 1000 == document["timestamp"]


def test_unknown_members_change_nothing() -> None:
    """An additional member is ignored, at every level."""
    assert parsed(decision="withheld", reason="x") == parsed(decision="withheld")
    place = {"latitude": 1.5, "longitude": 2.5}
    plain, more = (
        parsed(decision="approximated", source=START_MS, value=value) for value in (place, {**place, "altitude": 7.5})
    )
    assert plain == more
    assert isinstance(plain, release.Approximated)


@pytest.mark.parametrize(
    "members", [{"decision": "postponed"}, {"decision": "approximated", "value": [1], "source": 0}]
)
def test_what_is_unknown_has_no_value(members: dict[str, object]) -> None:
    """A row with an unknown decision or kind of value says so and holds nothing to compute with."""
    time = datetime(2012, 6, 1, 7, 0, 0, 1_000, tzinfo=UTC)
    assert rows.row(parsed(**members)) == {"series": "home-7", "timestamp": time, "decision": members["decision"]}


@pytest.mark.parametrize("frame_of", [pandas_frame.frame_of, polars_frame.frame_of])
def test_sums_means_and_choices_of_contributors(frame_of: Callable[..., Any]) -> None:
    """Results computed from contributors' items are in the columns of their kind."""
    number: dict[str, Any] = {"kind": "number", "lower": 0, "upper": 6, "resolution": 0.5}
    ways = {
        "total": (number, {"statistic": "sum", "neighbours": "replace"}),
        "mean": (number, {"statistic": "mean", "neighbours": "replace"}),
        "hidden": (number, {"statistic": "mean", "neighbours": "add-remove"}),
        "first": ({"kind": "choice", "items": ["a", "b"]}, {"neighbours": "replace"}),
    }
    protection = {"level": "event", "step": STEP}
    run = Run()
    for series, (value, collect) in ways.items():
        run.feed(policy(series, value=value, collect={**collect, "open_steps": 1}, protection=protection))
        run.feed(watermark(0, series=series))
        for member in "xyz":
            item = "a" if series == "first" else 2.5
            run.feed(contribution(0, member, item, series=series))
        run.feed(watermark(STEP, series=series))
    assert run.rejects == []
    frame = frame_of([release.parse(line) for line in run.releases])
    found = {row["series"]: row for row in in_rows(frame)}
    assert {name: row.get("statistic") for name, row in found.items()} == {
        "total": "sum",
        "mean": "mean",
        "hidden": "mean",
        "first": None,
    }
    assert (found["mean"]["items"], "items" in found["total"]) == (3, False)
    assert {"number", "measured_number", "scale"} <= found["total"].keys()
    assert {"number", "measured_part_sum", "measured_part_count", "scale_sum", "scale_count"} <= found["hidden"].keys()
    assert found["first"]["category"] in {"a", "b"}


def in_rows(frame: Any) -> list[dict[str, Any]]:
    """Return the rows of a frame of either kind, without nulls."""
    found = frame.to_dicts() if isinstance(frame, pl.DataFrame) else frame.to_dict("records")
    return [{name: value for name, value in row.items() if not pd.isna(value)} for row in found]


@pytest.mark.parametrize(
    ("frame_of", "type_of_time"),
    [(pandas_frame.frame_of, "datetime64[ms, UTC]"), (polars_frame.frame_of, pl.Datetime("ms", "UTC"))],
    ids=["pandas", "polars"],
)
def test_each_release_is_a_row(
    published: Published, releases: list[release.Release], frame_of: Callable[..., Any], type_of_time: object
) -> None:
    """Each release's value is in the columns of its kind, and all other columns are empty."""
    frame = frame_of(releases)
    assert frame["timestamp"].dtype == type_of_time
    found = in_rows(frame)
    by_step = {(row["series"], row["timestamp"].timestamp() * 1000): row for row in found}
    assert len(by_step) == len(found) == len(published.releases)
    for line in published.releases:
        read = json.loads(line)
        row = by_step[read["series"], read["timestamp"]]
        wanted = expected(read)
        assert {name: value for name, value in row.items() if name not in {"timestamp", "source"}} == wanted
        assert ("source" in row) == (read["decision"] == "approximated" and "policy" in wanted)


def expected(read: dict[str, Any]) -> dict[str, Any]:
    """Return the expected columns of a release that was read, except for its times."""
    wanted = {name: value for name, value in read.items() if name in {"series", "decision", "policy", "scale"}}
    if "epsilon_nano" in read:
        wanted["epsilon"] = read["epsilon_nano"] / 1e9
    if isinstance(scales := wanted.get("scale"), dict):
        del wanted["scale"]
        wanted |= {f"scale_{name}": scale for name, scale in scales.items()}
    for member, prefix in (("value", ""), ("measurement", "measured_")):
        match read.get(member):
            case bool() | str() as category:
                wanted[f"{prefix}category"] = str(category).lower()
            case {"latitude": latitude, "longitude": longitude}:
                wanted |= {f"{prefix}latitude": latitude, f"{prefix}longitude": longitude}
            case dict() as parts:
                name = "part" if any(isinstance(number, float) for number in parts.values()) else "counts"
                wanted |= {f"{prefix}{name}_{key}": number for key, number in parts.items()}
            case float() as number:
                wanted[f"{prefix}number"] = number
    if read["decision"] == "postponed" or isinstance(read.get("value"), list):  # what the example does not know
        del wanted["policy"]
    return wanted


@pytest.mark.parametrize("frame_of", [pandas_frame.frame_of, polars_frame.frame_of])
def test_uncommitted_releases_make_no_frame(published: Published, frame_of: object) -> None:
    """A step with two releases is refused, because they were read without their isolation level."""
    assert callable(frame_of)
    releases = [release.parse(line) for line in (*published.releases, *published.aborted)]
    with pytest.raises(ValueError, match="two releases"):
        frame_of(releases)
