"""Statistics of units in the library: the figures from folders, with the exact law, in every frame library."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import landmark_stream as ls
from stream_app.api.policy import compiled
from stream_app.formats import wire
from stream_app.privacy.kinds import UnitStatistic
from stream_app.privacy.noise.randomness import BitStream
from stream_app.privacy.policy import policy_of
from stream_app.privacy.values import NANO, RawCells

DAY = 86_400_000
HOUR = 3_600_000
NUMBER = ls.Number(0, 10, 0.5)
DAYS = 40
STATISTICS: Mapping[str, dict[str, Any]] = {
    "mean": {"statistic": "mean"},
    "sum": {"statistic": "sum"},
    "share": {"statistic": ls.Share(2, 5)},
    "histogram": {"statistic": ls.Histogram([2, 5, 8])},
    "hourly": {"statistic": "mean", "by": "hour"},
}


def policy(name: str, **members: Any) -> ls.Policy:
    """Return a policy for daily statistics over hours."""
    found = {"epsilon": 2, "value": NUMBER, "unit": "1h", "step": "1d", "scheme": ls.Uniform()}
    return ls.Policy.landmark(**{**found, **STATISTICS[name], **members})


def cells_of_day(day: int) -> list[tuple[int, int]]:
    """Return the units of a day: 18 to 23 of them, with cells that depend on the hour and, later, on the day."""
    return [(day * DAY + hour * HOUR, (hour // 2 + 4 * (day >= DAYS // 2)) % 21) for hour in range(18 + day % 6)]


def published(folder: Path, name: str) -> ls.Releases:
    """Return the releases of two series that the real mechanism makes from those units, as read from a folder."""
    record = policy(name).record
    parameters = {member: value for member, value in record.items() if member not in wire.POLICY_ENVELOPE}
    kind = policy_of(parameters, 1).kind
    assert isinstance(kind, UnitStatistic)
    entries, releases = [], []
    for nth, series in enumerate(("home-1", "home-2")):
        entries.append({"entry": "policy", "series": series, "policy": 1, "parameters": parameters})
        for day in range(DAYS):
            stream = BitStream(b"k" * 32, b"test-statistics", bytes((nth, day)))
            cells = kind.tallied(cells_of_day(day))
            assert cells is not None
            noisy = kind.perturb(stream, RawCells(cells), 2 * NANO)
            count = kind.count(noisy)
            place = {"series": series, "timestamp": day * DAY, "value": kind.publish(kind.clamp(noisy))}
            made = {"decision": "perturbed", "measurement": kind.publish(noisy), "epsilon_nano": 2 * NANO, "policy": 1}
            made |= {"scale": kind.stated(2 * NANO, count), "statistic": kind.statistic, "count": count}
            releases.append(place | made)
    for file, records in (("ledger", entries), ("releases", releases)):
        (folder / f"{file}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    return ls.read_releases(folder)


def truth(days: range) -> float:
    """Return the true mean over all units of some days."""
    return float(np.mean([cell / 2 for day in days for _, cell in cells_of_day(day)]))


def holds(row: Mapping[str, Any], true: float) -> bool:
    """Return whether an interval contains the truth or, like one in 20, misses it by less than half its width."""
    half = (row["high"] - row["low"]) / 2
    return bool(row["low"] - half <= true <= row["high"] + half)


def frames(found: ls.Releases) -> list[Any]:
    """Return the releases and their frames."""
    return [found, found.to_pandas(), found.to_polars(), found.rows()]


def near(one: ls.Table, other: ls.Table) -> bool:
    """Return whether two tables have the same rows, with numbers equal up to rounding."""
    return len(one) == len(other) and all(
        {name: cell for name, cell in a.items() if not isinstance(cell, float)}
        == {name: cell for name, cell in b.items() if not isinstance(cell, float)}
        and [cell for cell in a.values() if isinstance(cell, float)]
        == pytest.approx([cell for cell in b.values() if isinstance(cell, float)], rel=1e-9, abs=1e-12)
        for a, b in zip(one, other, strict=True)
    )


@pytest.mark.parametrize("name", STATISTICS)
def test_releases_carry_statistic_and_count(tmp_path: Path, name: str) -> None:
    """There is one column per part; `count` is the number of units, by bin if the value is."""
    found = published(tmp_path, name)
    row = found.rows()[0]
    assert row["statistic"] == ("mean" if name == "hourly" else name)
    assert row["landmark"] is False
    counts = [column for column in found.columns if column.startswith("count")]
    assert counts == ([f"count_{hour}" for hour in range(23)] if name == "hourly" else ["count"])
    assert row[counts[0]] == (1 if name == "hourly" else 18)
    assert "items" not in row


def test_means_are_those_of_all_units(tmp_path: Path) -> None:
    """In every library they are weighted by count, and the exact interval contains the truth."""
    found = published(tmp_path, "mean")
    units = sum(18 + day % 6 for day in range(DAYS))
    for frame in frames(found):
        rows = ls.mean(frame).rows()
        assert near(ls.mean(frame), ls.mean(found))
        assert [(row["steps"], row["units"]) for row in rows] == [(DAYS, units)] * 2
        assert all(holds(row, truth(range(DAYS))) for row in rows)
    daily = ls.mean(found, ("series", "day")).rows()
    assert [row["steps"] for row in daily] == [1] * 2 * DAYS


def test_a_profile_has_a_row_a_bin(tmp_path: Path) -> None:
    """Rows are by hour over all days; without the policy, the column has no name of its own."""
    found = published(tmp_path, "hourly")
    table = ls.profile(found)
    assert [row["hour"] for row in table if row["series"] == "home-1"] == list(range(23))
    for row in table:
        days = [day for day in range(DAYS) if row["hour"] < 18 + day % 6]
        assert (row["steps"], row["units"]) == (len(days), len(days))
        true = np.mean([(row["hour"] // 2 + 4 * (day >= DAYS // 2)) % 21 / 2 for day in days])
        assert holds(row, float(true))
    for frame in frames(found)[1:]:
        assert [row["mean"] for row in ls.profile(frame)] == pytest.approx([row["mean"] for row in table])
        assert [row["low"] for row in ls.profile(frame)] == pytest.approx([row["low"] for row in table])
        assert near(ls.profile(frame, policy=policy("hourly")), table)


def test_time_in_range(tmp_path: Path) -> None:
    """It comes from a share or from a histogram's bins, alone and added up."""
    (tmp_path / "other").mkdir()
    share, histogram = published(tmp_path, "share"), published(tmp_path / "other", "histogram")
    cells = [cell / 2 for day in range(DAYS) for _, cell in cells_of_day(day)]
    true = float(np.mean([2 <= cell < 5 for cell in cells]))
    for table in (ls.time_in_range(share), ls.time_in_range(histogram, 2, 5)):
        assert [row["range"] for row in table] == ["2 to 5"] * 2
        assert {row["units"] for row in table} == {len(cells)}
        assert all(holds(row, true) for row in table)
    every = ls.time_in_range(histogram).rows()
    assert [row["range"] for row in every][:4] == ["below 2", "2 to 5", "5 to 8", "from 8"]
    above = ls.time_in_range(histogram, 5).rows()[0]
    assert above["share"] == pytest.approx(every[2]["share"] + every[3]["share"])
    assert above["standard_error"] == pytest.approx(every[2]["standard_error"] * 2**0.5)
    for frame in frames(histogram)[1:]:
        assert near(ls.time_in_range(frame, 2, 5, policy=policy("histogram")), ls.time_in_range(histogram, 2, 5))
    for low, high, what in ((3, 5, "low: 3 is not one of the edges"), (5, 2, "high: is not above low")):
        with pytest.raises(ls.Error, match=what):
            ls.time_in_range(histogram, low, high)
    with pytest.raises(ls.Error, match="low: the policy sets the range of a share;"):
        ls.time_in_range(share, 2, 5)


def test_two_spans_beside_each_other(tmp_path: Path) -> None:
    """The interval contains the growth of the values: the difference of two means over 20 days each."""
    found = published(tmp_path, "mean")
    spans = ("1970-01-01", "1970-01-20"), ("1970-01-21", "1970-02-09")
    true = truth(range(20, 40)) - truth(range(20))
    for frame in frames(found):
        for row in ls.compare(frame, *spans):
            assert row["difference"] == pytest.approx(row["after"] - row["before"])
            assert holds(row, true)
            assert not row["low"] <= 0 <= row["high"]
            assert row["units_before"] == sum(18 + day % 6 for day in range(20))
    backwards = ls.compare(found, *spans[::-1]).rows()
    assert backwards[0]["difference"] == pytest.approx(-ls.compare(found, *spans).rows()[0]["difference"])
    for before, after, what in (
        (spans[0], ("1970-01-20", "1970-02-01"), "after: overlaps with before"),
        (spans[0], ("1971-01-01", "1971-02-01"), "after: home-1: has no release in this span"),
        (spans[0][::-1], spans[1], "before: ends before it begins"),
        ("1970-01-01", spans[1], "before: is not a span"),
    ):
        with pytest.raises(ls.Error, match=what):
            ls.compare(found, before, after)  # type: ignore[arg-type]


def test_what_is_no_statistic_of_units_is_refused(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    """The error's sentence says how to publish one."""
    single = ls.release(rows, ls.Policy.event(epsilon=2, value=ls.Number(0, 10, 0.001), step="1h"), out=tmp_path)
    for verb in (
        ls.profile,
        ls.time_in_range,
        lambda frame: ls.compare(frame, ("1970-01-01",) * 2, ("1970-01-02",) * 2),
    ):
        for frame in (single, single.releases.rows()):
            with pytest.raises(
                ls.Error, match=r"row 0: is a single release, not a statistic of units; publish a statistic with"
            ):
                verb(frame)
    (tmp_path / "mean").mkdir()
    mean = published(tmp_path / "mean", "mean")
    with pytest.raises(ls.Error, match="home-1: is not a statistic by local time"):
        ls.profile(mean)
    with pytest.raises(ls.Error, match="home-1: is neither a share nor a histogram"):
        ls.time_in_range(mean)


def test_hours_of_statistics_by_hour_are_a_profile(tmp_path: Path) -> None:
    """The hour at which a day begins is unrelated to the bins; each day of each series has its own bins."""
    found = published(tmp_path, "hourly")
    for frame in frames(found):
        for by in ("hour", ["series", "weekday"]):
            with pytest.raises(
                ls.Error, match=r"by: (hour|weekday) groups steps by the local time of their start.* use profile\(\)"
            ):
                ls.mean(frame, by)
        parts = [row["part"] for row in ls.mean(frame, "day")]
        assert list(dict.fromkeys(parts)) == [str(hour) for hour in range(23)]


def test_policies_of_units() -> None:
    """Lengths are texts, statistics are by name or part, local time is by zone; the record is that of the wire."""
    found = policy("hourly", local_zone="Europe/Paris", local_from="2026-01-01", window=3, within="mean", offset="6h")
    assert found.record["protection"] == {
        "level": "landmark",
        "landmarks": [],
        "window": 3,
        "step": DAY,
        "unit": HOUR,
        "offset": 6 * HOUR,
        "open_steps": 1,
        "within": "mean",
    }
    assert found.record["value"]["transitions"][0] == [1_767_222_000_000, HOUR]
    assert policy("share").record["value"] | {"from": 2, "to": 5} == policy("share").record["value"]
    assert policy("histogram").record["value"]["edges"] == [2, 5, 8]
    assert "any 3 hours in a row" in str(found)
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("unit", {"unit": "five minutes"}),
        ("statistic", {"unit": None}),
        ("statistic", {"statistic": ls.Uniform()}),
        ("local_from", {"by": "hour", "local_zone": "Europe/Paris"}),
        ("local_zone", {"by": "hour", "local_from": "2026-01-01"}),
        ("within", {"within": ls.Within("mean", 1)}),
        ("step", {"step": None}),
        ("protection.unit", {"step": "90min"}),
    ]
    for member, change in wrong:
        with pytest.raises(ls.Error) as caught:
            policy("mean", **change)
        assert member in {fault.member for fault in caught.value.faults}, change


def test_without_a_scheme_a_release_is_the_statistic() -> None:
    """If steps hold units, the default is Uniform, whose releases no filter changes; otherwise it is as before."""
    daily: dict[str, Any] = {"epsilon": 1, "value": NUMBER, "unit": "1h", "step": "1d", "statistic": "mean"}
    for made in (ls.Policy.landmark(**daily), ls.Policy.event(**daily)):
        assert made.record["scheme"] == {"name": "uniform"}
        assert compiled(made).filter == "none"
    assert ls.Policy.landmark(**daily, scheme=ls.Balanced()).record["scheme"]["name"] == "balanced"
    assert ls.Policy.landmark(epsilon=1, value=NUMBER, step="1d").record["scheme"]["name"] == "balanced"


def test_a_plan_of_units_has_a_table_an_answer_and_a_picture(tmp_path: Path) -> None:
    """They match the command's; data add the constant baseline to each error."""
    found = ls.plan(policy("mean"), step="week", error=0.01)
    assert isinstance(found, ls.PlanOfUnits)
    own = next(row for row in found.table if row["unit"] == "1 h *")
    assert own["day"] == pytest.approx(0.5 / np.sinh(0.1) / 24)
    assert found.answer is not None
    assert found.answer["epsilon"] == pytest.approx(20 * np.arcsinh(0.5 / 168 / 0.01), rel=1e-8)
    assert "needs epsilon" in str(found)
    assert found.picture(tmp_path / "plan.svg").stat().st_size > 1_000
    rng = np.random.default_rng(1)
    rows = [{"timestamp": nth * HOUR, "value": float(rng.uniform(0, 10))} for nth in range(24 * 30)]
    beside = ls.plan(policy("mean"), data=rows)
    assert isinstance(beside, ls.PlanOfUnits)
    assert beside.warning == ""
    assert all("day: constant" in row for row in beside.table if "day" in row)
    useless = [{"timestamp": 0, "value": "x"}]
    for member, words in (("step", {"step": "day"}), ("bound", {"bound": 2.0}), ("data", {"data": useless})):
        with pytest.raises(ls.Error) as caught:
            ls.plan(policy("mean"), **words)
        assert caught.value.faults[0].member == member
