"""The page's `left.py` on ledgers of the worker's own: two installations together keep one budget."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stream_app import keyfile
from stream_app.cli import main
from tests.deploy import ROOT
from tests.docs.page import blocks_of
from tests.run import NUMBER

PAGE = ROOT / "docs" / "how-to" / "back-up-and-restore.md"
HOUR = 3_600_000
LATE = 10 * HOUR
"""A landmark of the policies here that the old ledger does not reach."""

Record = dict[str, Any]


def ruled(series: str, version: int = 1, epsilon: float = 1.0, **members: Any) -> Record:
    """Return a policy with two landmarks, at its second step and at `LATE`."""
    protection = {"level": "landmark", "step": HOUR, "landmarks": [HOUR, LATE], "spare": 2}
    parameters = {"epsilon": epsilon, "protection": protection, "scheme": {"name": "uniform"}, "value": NUMBER}
    return {"type": "policy", "series": series, "version": version, **parameters, **members}


def readings(series: str, *steps: int) -> list[Record]:
    """Return a reading of each step."""
    return [{"series": series, "timestamp": step * HOUR, "value": 1.5} for step in steps]


@dataclass(frozen=True)
class Site:
    """A folder with a key: an installation is a replay."""

    folder: Path

    def installed(self, name: str, records: list[Record]) -> tuple[list[Record], list[Record]]:
        """Return ledger and rejects of an installation that gets ``records``; its audit finds nothing."""
        events, key, out = self.folder / f"{name}.jsonl", self.folder / "key", self.folder / name
        if not key.exists():
            keyfile.create(key)
        events.write_text("".join(json.dumps(record) + "\n" for record in records))
        assert main(["replay", str(events), "--out", str(out), "--key", str(key)]) == 0
        assert main(["audit", "--ledger", str(out / "ledger.jsonl"), "--releases", str(out / "releases.jsonl")]) == 0
        return _lines((out / "ledger.jsonl").read_text()), _lines((out / "rejects.jsonl").read_text())

    def left(self, name: str) -> tuple[list[Record], str]:
        """Return the records that the page's script makes of an installation's ledger, and what it says."""
        (script,) = (block for block in blocks_of(PAGE.read_text()) if block.file == "left.py")
        (self.folder / "left.py").write_text(script.text)
        ledger = str(self.folder / name / "ledger.jsonl")
        done = subprocess.run(
            [sys.executable, "left.py", ledger], cwd=self.folder, capture_output=True, text=True, check=True
        )
        return _lines(done.stdout), done.stderr


def _lines(text: str) -> list[Record]:
    return [json.loads(line) for line in text.splitlines()]


def spends(ledger: list[Record]) -> dict[int, int]:
    """Return what each step of a ledger spent, in nano-epsilon."""
    return {entry["timestamp"]: entry.get("epsilon_nano", 0) for entry in ledger if entry["entry"] == "release"}


def loss(ledgers: list[list[Record]], landmarks: set[int]) -> int:
    """Return the true loss under one set of landmarks: what they spent, and the dearest other step of each period.

    Periods of two installations add up as those of one do; a step decided twice counts twice.
    """
    total = 0
    for ledger in ledgers:
        periods: dict[int, list[Record]] = {}
        for entry in ledger:
            if entry["entry"] == "release":
                periods.setdefault(entry["policy"], []).append(entry)
        for entries in periods.values():
            found = [(entry["timestamp"] in landmarks, entry.get("epsilon_nano", 0)) for entry in entries]
            total += sum(nano for marked, nano in found if marked)
            total += max((nano for marked, nano in found if not marked), default=0)
    return total


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """An empty folder."""
    return Site(tmp_path)


def test_old_steps_and_landmarks_of_old_steps_are_refused(site: Site) -> None:
    """Whatever is sent after the fence, both installations lose one budget at most under the final landmarks."""
    old, _ = site.installed("old", [ruled("home", scheme={"name": "balanced"}), *readings("home", 0, 1, 2, 3)])
    begun, said = site.left("old")
    late = [{"type": "landmarks", "series": "home", "add": [step * HOUR]} for step in (0, 2, 3)]
    new, rejects = site.installed("new", [*begun, *late, *readings("home", 0, 2, 3, 4, 10, 11)])
    registered = {at for entry in new if entry["entry"] == "landmarks" for at, _ in entry["add"]}
    assert 0 < loss([old, new], {HOUR, LATE} | registered) <= 1_000_000_000
    reasons = [reject["reason"] for reject in rejects]
    assert reasons == ["refused-landmark"] * 3 + ["late"] * 2 + ["duplicate"]
    assert not set(spends(old)) & set(spends(new))
    assert f"from timestamp {4 * HOUR} on" in said


def test_a_landmark_to_come_is_still_registered(site: Site) -> None:
    """The fence stands behind the last decided step and before the next one."""
    site.installed("old", [ruled("home"), *readings("home", 0, 1, 2, 3)])
    begun, _ = site.left("old")
    coming = {"type": "landmarks", "series": "home", "add": [4 * HOUR]}
    new, rejects = site.installed("new", [*begun, coming, *readings("home", 4)])
    assert rejects == []
    assert new[-1]["landmark"] is True
    assert new[-1]["epsilon_nano"] > 0


def test_versions_add_up_and_no_later_one_gets_more(site: Site) -> None:
    """Every period counts; a version after that of `left.py` is bound by what was left, not by a new lifetime."""
    quarter: Record = {"protection": {"level": "landmark", "step": HOUR // 2}, "epsilon": 0.25}
    old, rejects = site.installed(
        "old",
        [
            ruled("home", scheme={"name": "balanced", "regular_share": 0.25}),
            *readings("home", 0, 2),
            ruled("home", 2, **quarter),
            *readings("home", 4),
        ],
    )
    assert rejects == []
    begun, said = site.left("old")
    assert "epsilon 0.500000000 is left" in said
    assert f"from timestamp {4 * HOUR + HOUR // 2} on" in said
    more = [*readings("home", 5), ruled("home", 3, 0.1, protection={"level": "landmark", "step": HOUR})]
    new, rejects = site.installed("new", [*begun, *more, *readings("home", 6)])
    assert [reject["reason"] for reject in rejects] == ["budget-cap"]
    assert loss([old, new], set()) == 1_000_000_000


def test_landmarks_registered_late_stay_landmarks(site: Site) -> None:
    """What the old ledger was told of a step to come goes with the series; what is behind it does not."""
    coming = {"type": "landmarks", "series": "home", "add": [[12 * HOUR, 14 * HOUR], 2 * HOUR]}
    site.installed("old", [ruled("home"), *readings("home", 0), coming, *readings("home", 1, 2, 3)])
    begun, _ = site.left("old")
    assert begun[-1]["protection"]["landmarks"] == [[LATE, LATE + 1], [12 * HOUR, 14 * HOUR]]


def test_dummies_closed_series_and_other_levels_get_nothing(site: Site) -> None:
    """Each is named with the reason; a series whose present version has no dummies goes on."""
    drawn: Record = {"method": "heuristic", "utility": "count", "fraction": 0.1, "start": 0, "end": 20 * HOUR}
    fixed: Record = {"protection": {"level": "landmark", "step": HOUR, "landmarks": [HOUR, LATE]}}
    plain = ruled("undisguised", 2, 0.2, protection={"level": "landmark", "step": HOUR})
    site.installed(
        "old",
        [
            *[ruled("disguised", **fixed, dummies=drawn), *readings("disguised", 0)],
            *[ruled("closed"), *readings("closed", 0), {"type": "close", "series": "closed"}],
            *[ruled("event", protection={"level": "event", "step": HOUR}), *readings("event", 0)],
            *[ruled("spent", protection={"level": "landmark", "step": HOUR}), *readings("spent", 0)],
            *[ruled("undisguised", epsilon=0.5, **fixed, dummies=drawn), plain],
        ],
    )
    begun, said = site.left("old")
    assert {record["series"] for record in begun} == {"undisguised"}
    assert said.splitlines()[:4] == [
        "disguised: dummies, decide by hand",
        "closed: closed, gets no policy",
        "event: level event, decide by hand",
        "spent: nothing is left",
    ]
    assert begun[-1]["epsilon"] == 0.45


def test_a_series_that_decided_nothing_needs_no_fence(site: Site) -> None:
    """Its policy comes alone and whole."""
    site.installed("old", [ruled("home")])
    begun, _ = site.left("old")
    (policy,) = begun
    assert (policy["epsilon"], policy["protection"]["landmarks"][0][0]) == (1.0, HOUR)


def test_copies_count_once(site: Site) -> None:
    """A ledger with each entry twice leaves as much."""
    site.installed("old", [ruled("home"), *readings("home", 0, 1, 2)])
    begun = site.left("old")
    ledger = site.folder / "old" / "ledger.jsonl"
    ledger.write_text(ledger.read_text() * 2)
    assert site.left("old") == begun
