"""Pairs of histories of units: correct code is not called broken, and a worker decides what they contain."""

import json
from typing import Any

import pytest

from stream_app.deciding.context import Context
from stream_app.deciding.units import blocks
from stream_app.deciding.units.sealed import SEALED_BYTES, opened
from stream_app.privacy.kinds import UnitStatistic
from stream_app.privacy.noise.key import KeyRing
from stream_app.verify.experiment import experiment
from stream_app.verify.gathered import pairs_of
from stream_app.verify.trial import cell_columns, derived, seen_of, series_of, sown
from stream_app.verify.units import MOST_DIFFERING, unit_courses
from stream_app.verify.verdict import Judgement
from tests.run import ADAPTIVE, BALANCED, UNIFORM, Run
from tests.suite.combined import combined
from tests.verify.test_honest import held, judged
from tests.verify.tried import SECRET, pair_of, row_of

HOUR = 3_600_000
NUMBER: dict[str, Any] = {"kind": "number", "lower": 2, "upper": 10, "resolution": 0.5}
STATISTICS: dict[str, dict[str, Any]] = {
    "mean": {**NUMBER, "statistic": "mean"},
    "sum": {**NUMBER, "statistic": "sum", "invalid": 3},
    "share": {**NUMBER, "statistic": "share", "from": 4, "to": 6},
    "histogram": {**NUMBER, "statistic": "histogram", "edges": [3, 5]},
    "categories": {"kind": "category", "categories": ["home", "work", True], "statistic": "histogram"},
    "mean by hour": {**NUMBER, "statistic": "mean", "by": "hour"},
    "sum by weekday": {**NUMBER, "statistic": "sum", "by": "weekday"},
}
HOURLY: dict[str, Any] = {"unit": HOUR, "step": 4 * HOUR, "offset": HOUR, "open_steps": 2}
EVENT: dict[str, Any] = {"level": "event", **HOURLY}
MARKED: dict[str, Any] = {"level": "landmark", **HOURLY, "landmarks": [[6 * HOUR, 8 * HOUR]], "spare": 1}
BESIDE, ALONE = {**MARKED, "window": 3}, {"level": "landmark", **HOURLY}
LATE, TOLD = "units registered late", "a unit registered before its step ends"


@pytest.mark.slow
@pytest.mark.parametrize(("statistic", "protection"), combined([*STATISTICS], [EVENT, MARKED, BESIDE], every=3))
def test_nothing_that_is_right_is_broken(statistic: str, protection: Any) -> None:
    """This holds for all pairs; with few runs the bounds are low, and none exceeds the declared loss."""
    parameters = {"epsilon": 2.0, "protection": protection, "scheme": BALANCED, "value": STATISTICS[statistic]}
    found = held(parameters, 100)
    assert found.results
    assert found.judgement is not Judgement.BROKEN
    assert all(result.measured.shown <= result.declared for result in found.results)


@pytest.mark.parametrize("protection", [EVENT, MARKED, BESIDE])
@pytest.mark.parametrize("statistic", STATISTICS)
def test_the_control_runs_where_a_loss_is_declared(statistic: str, protection: Any) -> None:
    """If nothing may be lost, twice the budget loses nothing either."""
    parameters = {"epsilon": 2.0, "protection": protection, "scheme": BALANCED, "value": STATISTICS[statistic]}
    tried = experiment(parameters, SECRET)
    controlled = {part.pair for part in tried.parts(1) if part.control}
    assert controlled
    assert all(tried.pairs[place].declared_nano > 0 for place in controlled)


@pytest.mark.slow
@pytest.mark.parametrize(("statistic", "runs"), [("mean", 1000), ("categories", 1000), ("mean by hour", 1000)])
def test_a_worker_that_spends_twice_as_much_is_found(statistic: str, runs: int) -> None:
    """It is found in one unit of a step, beside others that are equal."""
    parameters = {"epsilon": 2.0, "protection": EVENT, "scheme": UNIFORM, "value": STATISTICS[statistic]}
    assert judged(parameters, runs, 1).judgement is Judgement.HOLDS


@pytest.mark.parametrize(
    ("protection", "names"),
    [
        (EVENT, ["one unit", "one unit after many steps"]),
        (ALONE, ["one unit", "one unit after many steps", TOLD, LATE]),
        (
            MARKED,
            ["one unit", "one unit after many steps", "landmark units", "landmark units and one unit", TOLD, LATE],
        ),
        (
            BESIDE,
            [
                "one unit",
                "units in a row, across a step boundary",
                "units in a row after many steps",
                "landmark units",
                "landmark units and units in a row",
                TOLD,
                LATE,
            ],
        ),
    ],
)
def test_courses(protection: Any, names: list[str]) -> None:
    """Courses that differ only in landmarks are declared 0, and those in some of a window's units their share."""
    row = row_of(protection=protection, scheme=UNIFORM, value=STATISTICS["mean"])
    courses = {course.name: course for course in unit_courses(row.policy)}
    assert [*courses] == names
    assert all(len(name) <= 41 for name in names), "rows of 80 columns"
    free = {name for name, course in courses.items() if course.declared_nano == 0}
    assert free == {"landmark units", TOLD} & {*names}
    window = protection.get("window", 1)
    assert courses["one unit"].declared_nano == -(-2 * 10**9 // window)
    if window > 1:
        across = courses["units in a row, across a step boundary"]
        assert across.differing == tuple(range(across.differing[0], across.differing[0] + window))
        assert len(across.steps) == 2
    assert [pair.name for pair in pairs_of(row.policy)] == [*names, "one cell apart"]


def test_a_long_window_differs_in_its_middle() -> None:
    """In a day of minutes, only as many units differ as a run decides quickly, and less is declared."""
    protection = {"level": "landmark", "unit": 1, "step": 1000, "open_steps": 1, "window": 640}
    policy = row_of(protection=protection, scheme=UNIFORM, value=STATISTICS["sum"]).policy
    across = next(course for course in unit_courses(policy) if course.name == "units in a row, across a step boundary")
    assert len(across.differing) == MOST_DIFFERING
    assert across.declared_nano == 2 * 10**9 * MOST_DIFFERING // 640
    assert [unit // 1000 for unit in across.differing] == [1] * (MOST_DIFFERING // 2) + [2] * (MOST_DIFFERING // 2)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_pairs_are_as_far_apart_as_neighbours_may_be(statistic: str) -> None:
    """Over all steps it is the whole sensitivity, that of w units; landmarks would differ if they were counted."""
    policy = row_of(protection=BESIDE, scheme=UNIFORM, value=STATISTICS[statistic]).policy
    kind = policy.kind
    assert isinstance(kind, UnitStatistic)
    apart = {
        pair.name: sum(abs(near - far) for output in pair.outputs for near, far in zip(*output.cells, strict=True))
        for pair in pairs_of(policy)
    }
    assert (
        apart["units in a row, across a step boundary"]
        == apart["landmark units and units in a row"]
        == kind.sensitivity
    )
    assert apart["units in a row after many steps"] == kind.sensitivity
    assert 3 * apart["one unit"] == kind.sensitivity
    assert 3 * apart["landmark units"] == 2 * kind.sensitivity
    assert apart[LATE] == kind.sensitivity + apart["one unit"]


@pytest.mark.parametrize("name", ["landmark units and units in a row", LATE])
@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_run_is_what_the_decision_says(statistic: str, name: str) -> None:
    """The same records, decided by the harness of the other tests under the same key, show the same cells."""
    row = row_of(protection=BESIDE, scheme=UNIFORM, value=STATISTICS[statistic])
    pair, secret, kind = pair_of(row, name), derived(SECRET, 7), row.policy.kind
    seen = seen_of(experiment(row.policy.parameters, SECRET).subject, pair, 1, [secret])[0]
    run = Run(Context(KeyRing("0" * 16, 0, secret)))
    run.feed({"type": "policy", "series": series_of(0), "version": 1, **row.policy.parameters})
    for place, sent in enumerate(pair.histories[1]):
        run.feed(sown(sent, series_of(0), secret, place))
    assert not run.rejects
    releases = [json.loads(release) for release in run.releases]
    assert len(releases) == len(pair.outputs)
    for place, release in enumerate(releases):
        columns = cell_columns(pair, place)
        for found, cells in zip(columns, kind.released(release), strict=True):
            assert seen[found].tolist() == [cells[nth] for nth in pair.watched]


def test_units_are_read_from_sealed_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a worker, they are sealed between two batches, and no two runs have the same row."""
    rows: list[bytes] = []

    def opening(*parts: Any) -> Any:
        rows.append(parts[-1])
        return opened(*parts)

    monkeypatch.setattr(blocks, "opened", opening)
    row = row_of(protection=EVENT, scheme=ADAPTIVE, value=STATISTICS["mean"])
    seen_of(row, pair_of(row, "one unit"), 0, [derived(SECRET, run) for run in range(20)])
    # One unit is read twice and two once: each reading but the first opens the row, and the watermark does.
    assert len(rows) == len(set(rows)) == 20 * 4
    assert {len(one) for one in rows} == {SEALED_BYTES}
