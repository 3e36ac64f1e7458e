"""`check` accepts the policies of the examples, and `verify` finds no fault in those with units."""

import json
from pathlib import Path

import pytest

from stream_app.cli import main
from stream_app.privacy.kinds import ByBins, UnitStatistic
from stream_app.privacy.policy import policy_of
from stream_app.verify.verdict import Judgement
from tests.verify.test_honest import judged

FOLDER = Path("examples/policies")
UNITS = [json.loads(line) for line in (FOLDER / "units.jsonl").read_text().splitlines()]
PARAMETERS = ("epsilon", "protection", "scheme", "value")


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.jsonl")), ids=str)
def test_each_is_a_policy(file: Path) -> None:
    """Without a finding."""
    assert main(["check", str(file)]) == 0


def test_each_statistic_is_there() -> None:
    """There are statistics of numbers, of categories, and by local time."""
    kinds = [policy_of({name: one[name] for name in PARAMETERS}, 1).kind for one in UNITS]
    found = {(kind.statistic, isinstance(kind, ByBins)) for kind in kinds if isinstance(kind, UnitStatistic)}
    plain = {(statistic, False) for statistic in ("mean", "sum", "share", "histogram")}
    assert found == plain | {("mean", True), ("sum", True)}


@pytest.mark.slow
@pytest.mark.parametrize("record", UNITS, ids=[one["series"] for one in UNITS])
def test_units_hold(record: dict[str, object]) -> None:
    """No bound exceeds the declared one, in a small number of runs."""
    found = judged({name: record[name] for name in PARAMETERS}, 40)
    assert found.results
    assert found.judgement is not Judgement.BROKEN
