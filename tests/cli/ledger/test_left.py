"""``left`` on ledgers that the worker decided: two installations together stay within one budget."""

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stream_app.cli import main
from stream_app.formats import wire
from stream_app.setup import keyfile
from tests.run import ACCEPTING, COUNTS, NUMBER, SAMPLES

HOUR = 3_600_000
LATE = 10 * HOUR
"""A landmark of these policies that lies beyond the end of the old ledger."""

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

    def installed(self, name: str, records: list[Record], *words: str) -> tuple[list[Record], list[Record]]:
        """Return ledger and rejects of an installation that gets ``records``; its audit finds nothing."""
        events, key, out = self.folder / f"{name}.jsonl", self.folder / "key", self.folder / name
        if not key.exists():
            keyfile.create(key)
        events.write_text("".join(json.dumps(record) + "\n" for record in records))
        assert main(["replay", str(events), "--out", str(out), "--key", str(key), *ACCEPTING, *words]) == 0
        assert main(["audit", "--ledger", str(out / "ledger.jsonl"), "--releases", str(out / "releases.jsonl")]) == 0
        return lines((out / "ledger.jsonl").read_text()), lines((out / "rejects.jsonl").read_text())

    def left(self, name: str, *lifetime: str, code: int = 0, settings: str = "") -> tuple[list[Record], str]:
        """Return the records that ``left`` prints for an installation's ledger, and its messages."""
        config = self.folder / "settings.toml"
        config.write_text(settings)
        return left_of(self.folder / name / "ledger.jsonl", *lifetime, code=code, config=config)


def left_of(ledger: Path, *lifetime: str, code: int = 0, config: Path | None = None) -> tuple[list[Record], str]:
    """Run the command, which must exit with ``code``; return the records it prints and its messages."""
    words = ["left", "--ledger", str(ledger), "--without-aborted", *(["--lifetime", *lifetime] if lifetime else [])]
    words += ["--config", str(config)] if config else []
    printed, said = io.StringIO(), io.StringIO()
    with redirect_stdout(printed), redirect_stderr(said):
        assert main(words) == code, said.getvalue()
    return lines(printed.getvalue()), said.getvalue()


def lines(text: str) -> list[Record]:
    """Return the records of JSON lines."""
    return [json.loads(line) for line in text.splitlines()]


def written(entries: list[Record]) -> bytes:
    """Return entries in the form that a ledger file has."""
    return b"".join(wire.dump(entry) + b"\n" for entry in entries)


def spends(ledger: list[Record]) -> dict[int, int]:
    """Return what each step of a ledger spent, in nano-epsilon."""
    return {entry["timestamp"]: entry.get("epsilon_nano", 0) for entry in ledger if entry["entry"] == "release"}


def loss(ledgers: list[list[Record]], landmarks: set[int]) -> int:
    """Return the true loss under one set of landmarks: their spends plus the largest other step of each period.

    The periods of two installations add up like those of one; a step decided twice counts twice.
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


def test_old_steps_and_landmarks_of_old_steps_are_refused(site: Site) -> None:
    """Whatever is sent after the fence, both together lose at most one budget under the final landmarks."""
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
    """The fence lies after the last decided step and before the next one."""
    site.installed("old", [ruled("home"), *readings("home", 0, 1, 2, 3)])
    begun, _ = site.left("old")
    coming = {"type": "landmarks", "series": "home", "add": [4 * HOUR]}
    new, rejects = site.installed("new", [*begun, coming, *readings("home", 4)])
    assert rejects == []
    assert new[-1]["landmark"] is True
    assert new[-1]["epsilon_nano"] > 0


def test_versions_add_up_and_no_later_one_gets_more(site: Site) -> None:
    """Every period counts, as does the ruling policy's own epsilon; the remaining budget limits later versions."""
    quarter: Record = {"protection": {"level": "landmark", "step": HOUR, "landmarks": [LATE]}, "epsilon": 0.25}
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
    assert "epsilon 0.125 remains" in said
    assert f"from timestamp {5 * HOUR} on" in said
    dear, cheap = (
        ruled("home", version, epsilon, protection={"level": "landmark", "step": HOUR})
        for version, epsilon in ((4, 0.6), (5, 0.5))
    )
    new, rejects = site.installed("new", [*begun, *readings("home", 5, 10, 11), dear, cheap, *readings("home", 12)])
    assert [reject["reason"] for reject in rejects] == ["budget-cap"]
    assert loss([_under(old, 2), _under(new, 3)], {LATE}) == 250_000_000
    assert 900_000_000 < loss([old, new], {LATE}) <= 1_000_000_000


def _under(ledger: list[Record], version: int) -> list[Record]:
    return [entry for entry in ledger if entry["policy"] == version]


def test_a_longer_lifetime_does_not_raise_the_policy(site: Site) -> None:
    """The ruling policy guarantees its own epsilon at most, however long the series may live."""
    half: Record = {"scheme": {"name": "balanced", "regular_share": 0.5}}
    site.installed("old", [ruled("home", **half), *readings("home", 0)])
    begun, _ = site.left("old", "2.0")
    assert begun[-1]["epsilon"] <= 0.5
    assert begun[0]["epsilon"] >= 1.5


def test_landmarks_registered_late_stay_landmarks(site: Site) -> None:
    """Future landmarks registered in the old ledger move with the series; past ones do not."""
    coming = {"type": "landmarks", "series": "home", "add": [[12 * HOUR, 14 * HOUR], 2 * HOUR]}
    site.installed("old", [ruled("home"), *readings("home", 0), coming, *readings("home", 1, 2, 3)])
    begun, _ = site.left("old")
    assert begun[-1]["protection"]["landmarks"] == [LATE, [12 * HOUR, 14 * HOUR]]


DRAWN: Record = {"method": "heuristic", "utility": "count", "fraction": 0.1, "start": 0, "end": 20 * HOUR}
FIXED: Record = {"protection": {"level": "landmark", "step": HOUR, "landmarks": [HOUR, LATE]}}


def test_closed_series_and_those_without_budget_get_nothing(site: Site) -> None:
    """Each is named with a reason; a series that spent nothing under its last version gets all its epsilon."""
    plain = ruled("undisguised", 2, 0.2, protection={"level": "landmark", "step": HOUR, "landmarks": [[0, 21 * HOUR]]})
    over = {"level": "user", "step": HOUR, "length": 2}
    site.installed(
        "old",
        [
            *[ruled("closed"), *readings("closed", 0), {"type": "close", "series": "closed"}],
            *[ruled("spent", protection={"level": "landmark", "step": HOUR}), *readings("spent", 0)],
            *[ruled("over", protection=over), *readings("over", 1, 3)],
            *[ruled("undisguised", epsilon=0.5, **FIXED, dummies=DRAWN), plain],
        ],
    )
    begun, said = site.left("old")
    assert {record["series"] for record in begun} == {"undisguised"}
    assert said.splitlines()[:3] == [
        "closed: closed, so it gets no policy",
        "spent: no budget remains",
        "over: all steps of its length have passed",
    ]
    assert begun[-1]["epsilon"] == 0.2


def test_substitutes_that_told_validity_stay_behind(site: Site) -> None:
    """No worker adopts them any more; a substitute that hides validity moves with its series."""
    numbers: Record = {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.5}
    old, _ = site.installed("old", [ruled("home", value=numbers), *readings("home", 0)])
    for value, kept in ((numbers | {"invalid": 5}, True), (numbers | {"invalid": 5, "sensitivity": 2}, False)):
        old[0]["parameters"]["value"] = value
        (site.folder / "old" / "ledger.jsonl").write_bytes(written(old))
        begun, _ = site.left("old")
        assert [("invalid" in record["value"]) for record in begun if "version" in record] == [kept] * 3
        _, rejects = site.installed(f"new-{kept}", begun)
        assert rejects == []


def test_drawn_landmarks_stay(site: Site) -> None:
    """The landmarks are not drawn again, and both installations lose one budget, including the draw's charge."""
    old, _ = site.installed("old", [ruled("home", **FIXED, dummies=DRAWN), *readings("home", *range(5))])
    begun, said = site.left("old")
    new, rejects = site.installed("new", [*begun, *readings("home", *range(3, 20))])
    assert "with the drawn landmarks" in said
    assert [reject["reason"] for reject in rejects] == ["late", "duplicate"]
    (charge,) = [entry["charged_nano"] for entry in old if entry["entry"] == "dummies"]
    assert not [entry for entry in new if entry["entry"] == "dummies"]
    drawn = {at for first, end in old[0]["parameters"]["protection"]["landmarks"] for at in range(first, end, HOUR)}
    assert {HOUR, LATE} < drawn
    assert {entry["timestamp"] for entry in new if entry.get("landmark")} - {5 * HOUR - 1} == {
        at for at in drawn if at >= 5 * HOUR
    }
    assert 900_000_000 < charge + loss([old, new], drawn) <= 1_000_000_000


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_fence_stands_whatever_was_measured(site: Site, kind: str) -> None:
    """The fence has the series' own kind, so the policy after it protects no less; no record is refused."""
    reading = {"series": "home", "timestamp": 0, "value": SAMPLES[kind].values[0]}
    site.installed("old", [ruled("home", value=SAMPLES[kind].declared, scheme={"name": "balanced"}), reading])
    begun, _ = site.left("old")
    new, rejects = site.installed("new", begun)
    assert rejects == []
    assert [entry["entry"] for entry in new] == ["policy", "policy", "release", "policy"]
    assert new[2]["decision"] == "withheld"
    assert {entry["parameters"]["value"]["kind"] for entry in new if entry["entry"] == "policy"} == {kind}


def test_a_series_that_decided_nothing_needs_no_fence(site: Site) -> None:
    """A series without decisions gets only its policy, with the whole budget."""
    site.installed("old", [ruled("home")])
    begun, _ = site.left("old")
    (policy,) = begun
    assert (policy["epsilon"], policy["protection"]["landmarks"][0]) == (1.0, HOUR)


def test_copies_count_once(site: Site) -> None:
    """A ledger that has each entry twice leaves the same budget."""
    site.installed("old", [ruled("home"), *readings("home", 0, 1, 2)])
    begun = site.left("old")
    ledger = site.folder / "old" / "ledger.jsonl"
    ledger.write_text(ledger.read_text() * 2)
    assert site.left("old") == begun


@pytest.mark.parametrize("kind", ["counts", "choice"])
def test_collected_series_begin_anew_where_weaker_versions_are_accepted(site: Site, kind: str) -> None:
    """A fence that collects would need watermarks, so it collects nothing, and the policy after it is marked."""
    collect = {"neighbours": "replace", "open_steps": 2}
    protection = {"level": "landmark", "step": HOUR, "landmarks": [LATE]}
    value = {"kind": "choice", "items": ["walk", "ride"]} if kind == "choice" else COUNTS
    ruling = ruled("ward", value=value, collect=collect, protection=protection, scheme={"name": "balanced"})
    marks, later = (
        [{"type": "watermark", "series": "ward", "timestamp": step * HOUR, "seed": f"{step:064x}"} for step in steps]
        for steps in (range(3), range(2, 5))
    )
    old, _ = site.installed("old", [ruling, *marks])
    begun, said = site.left("old", code=2)
    assert (begun, "weaker-policy" in said, "`accept_weaker_policies`" in said) == ([], True, True)
    begun, said = site.left("old", settings="accept_weaker_policies = true\n")
    new, rejects = site.installed("new", [*begun, *later], "--config", str(site.folder / "settings.toml"))
    assert rejects == []
    assert f"from timestamp {2 * HOUR} on" in said
    assert not set(spends(old)) & set(spends(new))
    assert 0 < loss([old, new], {LATE}) <= 1_000_000_000
