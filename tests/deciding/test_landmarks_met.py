"""How many landmark steps have an event, as `replay` and `send` report it, and as the ledger flags it."""

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stream_app.deciding.landmarksmet import LandmarksMet
from tests.command import Cli, saved
from tests.run import MADE_UP, Run, default, limited, observation, policy
from tests.units import units

STEP_MS, HOUR_MS = 10, 3_600_000
SERIES = ("a", "b")


def protected(series: str, version: int, steps: set[int]) -> dict[str, object]:
    """Return a version with landmark steps."""
    landmarks = [step * STEP_MS + 3 for step in sorted(steps)]
    protection = {"level": "landmark", "landmarks": landmarks, "step": STEP_MS}
    return policy(series, version, protection=protection, epsilon=0.1, weaker=True)


@given(data=st.data())
def test_as_sent_and_as_written(data: st.DataObject) -> None:
    """Both equal a brute-force count over all steps; those with an event are the ones that the worker flagged."""
    run = Run(limited(lifetime_nano=10**12, accept_weaker_policies=True))
    as_sent, as_written = LandmarksMet(), LandmarksMet()
    landmarks: dict[str, set[int]] = {series: set() for series in SERIES}  # known in time, of all versions
    last = dict.fromkeys(SERIES, -1)
    versions = dict.fromkeys(SERIES, 0)
    records: list[dict[str, object]] = []
    for _ in range(data.draw(st.integers(0, 25))):
        series = data.draw(st.sampled_from(SERIES))
        ahead = data.draw(st.sets(st.integers(last[series] + 1, last[series] + 6), max_size=3))
        what = data.draw(st.sampled_from(["version", "register", "event", "event"]))
        if what == "version" or not versions[series]:
            versions[series] += 1
            landmarks[series] = {step for step in landmarks[series] if step <= last[series]} | ahead
            records.append(protected(series, versions[series], ahead))
        elif what == "register" and ahead:
            landmarks[series] |= ahead
            records.append({"type": "landmarks", "series": series, "add": [step * STEP_MS for step in ahead]})
        else:
            last[series] += data.draw(st.integers(1, 3))
            records.append(observation(series, last[series] * STEP_MS + 7, 1.0))
    for record in records:
        known = len(run.ledger)
        run.feed(record)
        for entry in map(json.loads, run.ledger[known:]):
            as_written.written(entry)
        if record["type"] == "observation":
            as_written.taken(str(record["series"]), int(str(record["timestamp"])))
    assert not run.rejects
    assert list(as_sent.sent(json.dumps(record).encode() for record in records)) == [
        json.dumps(record).encode() for record in records
    ]
    flagged = sum(b'"landmark":true' in entry for entry in run.ledger)
    steps = sum(map(len, landmarks.values()))
    wanted = {"landmark_steps": steps, "landmark_steps_met": flagged} if steps else {}
    assert as_sent.document() == as_written.document() == wanted


def test_late_and_double_events_and_passed_landmarks_do_not_count() -> None:
    """These are a second event of a step, an event before the last, and a landmark whose step is over."""
    met = LandmarksMet()
    records = [
        protected("a", 1, {1, 3}),
        *(observation("a", at, 1.0) for at in (15, 17, 5, 25)),
        {"type": "landmarks", "series": "a", "add": [20]},
        {"type": "landmarks", "series": "a", "add": [[10, 50]]},
        b"no record",
    ]
    list(met.sent(each if isinstance(each, bytes) else json.dumps(each).encode() for each in records))
    assert met.document() == {"landmark_steps": 3, "landmark_steps_met": 1}
    assert met.sentence.startswith("1 of 3 landmark steps have an event: the events are from 1970-01-01T00:00:00.015Z")


def test_steps_that_are_open_count_in_any_order() -> None:
    """Within an open step, readings may come out of order, and landmarks too, which are still left out."""
    protection = {"level": "landmark", "step": 40, "unit": 2, "open_steps": 2, "landmarks": [[10, 14], [30, 32]]}
    within = {"level": "landmark", "step": 2, "within": "sum", "open_steps": 30, "landmarks": [[10, 14], [30, 32]]}
    for ruling in (units(series="a", protection=protection), policy("a", protection=within)):
        met = LandmarksMet()
        records = [ruling, *(observation("a", at, 1.0) for at in (50, 12, 30, 3, 31))]
        records += [{"type": "landmarks", "series": "a", "add": [[2, 4]]}, observation("a", 200, 1.0)]
        list(met.sent(json.dumps(each).encode() for each in [*records, observation("a", 10, 1.0)]))
        assert met.document() == {"landmark_steps": 4, "landmark_steps_met": 3}
        assert ": the events are from 1970-01-01T00:00:00.003Z to 1970-01-01T00:00:00.2" in met.sentence


def test_a_version_brings_landmarks_of_units_that_are_open() -> None:
    """Readings of their units came before the version: they count, as if a record registered the landmark."""
    protection: dict[str, Any] = {"level": "landmark", "step": 10, "unit": 2, "open_steps": 2}
    later = {"type": "landmarks", "series": "a", "add": [4]}
    version = units(series="a", protection=protection | {"landmarks": [4]}) | {"version": 2}
    for registered in (later, version):
        met = LandmarksMet()
        records = [units(series="a", protection=protection), *(observation("a", at, 1.0) for at in (1, 3, 5))]
        records += [registered, *(observation("a", at, 1.0) for at in range(7, 56, 2))]
        list(met.sent(json.dumps(each).encode() for each in records))
        assert met.document() == {"landmark_steps": 1, "landmark_steps_met": 1}
        assert met.missed == []


def test_watermarks_close_steps() -> None:
    """A reading after a watermark that closes its step is refused as late; its landmark step has no event."""
    protection = {"level": "landmark", "step": 2, "within": "sum", "open_steps": 30, "landmarks": [[10, 14]]}
    watermark = {"type": "watermark", "series": "a", "timestamp": 12}
    for marks, met_steps in (([], 2), ([watermark], 1)):
        met = LandmarksMet()
        records = [policy("a", protection=protection), observation("a", 2, 1.0), *marks]
        list(
            met.sent(json.dumps(each).encode() for each in [*records, *(observation("a", at, 1.0) for at in (11, 13))])
        )
        assert met.document() == {"landmark_steps": 2, "landmark_steps_met": met_steps}


def test_replay_counts_units_whose_readings_come_later(tmp_path: Path, cli: Cli) -> None:
    """The landmark day comes last in its week, which is still open, so all its readings are accepted."""
    hours = [observation("sugar-1", at * HOUR_MS, 1.0) for at in (*range(24, 168), *range(24), 400)]
    divided = {"level": "landmark", "step": 168 * HOUR_MS, "unit": HOUR_MS, "open_steps": 1}
    ruling = units(protection=divided | {"landmarks": [[0, 12 * HOUR_MS]]})
    added = {"type": "landmarks", "series": "sugar-1", "add": [[12 * HOUR_MS, 24 * HOUR_MS]]}
    file = saved(tmp_path / "events.jsonl", ruling, *hours[:-1], added, hours[-1])
    found = cli("replay", *MADE_UP, file, "--out", tmp_path / "out", "--json").document
    assert (found["landmark_steps"], found["landmark_steps_met"], found["rejected"]) == (24, 24, 0)


def test_landmarks_under_dummies_are_not_known() -> None:
    """This applies to a sent policy; the ledger has the drawn landmarks, which are public."""
    hidden = {"method": "padding", "probability": 0.5, "start": 0, "end": 200}
    record = {**protected("a", 1, {3}), "dummies": hidden}
    met, written = LandmarksMet(), LandmarksMet()
    list(met.sent([json.dumps(record).encode(), json.dumps(observation("a", 35, 1.0)).encode()]))
    assert met.document() == {}
    assert not met.sentence
    run = Run().feed_all([record, observation("a", 35, 1.0)])
    for entry in map(json.loads, run.ledger):
        written.written(entry)
    written.taken("a", 35)
    assert written.document()["landmark_steps_met"] == 1


def test_default_policies_are_known_by_their_globs() -> None:
    """The first matching glob counts; without an event, nothing is said yet."""
    landmarks = {"level": "landmark", "landmarks": [3], "step": STEP_MS}
    met = LandmarksMet((default("a*", protection=landmarks), default("*", protection={"level": "event"})))
    list(met.sent([json.dumps(observation("b1", 3, 1.0)).encode()]))
    assert not met.sentence
    list(met.sent([json.dumps(observation("a1", 13, 1.0)).encode()]))
    assert met.sentence.startswith("0 of 1 landmark steps have an event: the events are from 1970-01-01T00:00:00.013Z")


def test_series_that_missed_theirs_are_named() -> None:
    """A series with events that met none of its landmarks is named; one without events only if nothing met any."""
    met = LandmarksMet()
    list(met.sent(json.dumps(protected(name, 1, {3})).encode() for name in "abc"))
    assert met.missed == []
    list(met.sent([json.dumps(observation("other", 135, 1.0)).encode()]))
    assert met.missed == ["a", "b", "c"]
    assert "the events are from 1970-01-01T00:00:00.135Z to 1970-01-01T00:00:00.135Z, and the landmarks" in met.sentence
    list(met.sent([json.dumps(observation("a", 235, 1.0)).encode(), json.dumps(observation("b", 35, 1.0)).encode()]))
    assert met.missed == ["a"]
    assert met.sentence.startswith("1 of 3 landmark steps have an event; none in a: the events are from")


def test_replay_says_it(tmp_path: Path, cli: Cli) -> None:
    """The counts are on standard error in words, and in totals for programs; without landmarks, there are none."""

    def replayed(name: str, *records: dict[str, object], words: tuple[str, ...] = ()) -> tuple[str, str]:
        file = tmp_path / f"{name}.jsonl"
        file.write_text("".join(json.dumps(record) + "\n" for record in records))
        return cli("replay", *MADE_UP, file, "--out", str(tmp_path / name), *words)

    records = [protected("a", 1, {1, 3}), *(observation("a", at, 1.0) for at in (5, 15, 25))]
    _, err = replayed("words", *records)
    assert "landmark-stream replay: 1 of 2 landmark steps have an event: the events are from" in err
    totals: dict[str, Any] = json.loads(replayed("json", *records, words=("--json",))[0])
    assert (totals["landmark_steps"], totals["landmark_steps_met"]) == (2, 1)
    plain = [policy("a", protection={"level": "event"}), observation("a", 5, 1.0)]
    out, err = replayed("plain", *plain, words=("--json",))
    assert "landmark" not in out + err


def test_each_series_of_units_must_meet_one_of_its_landmarks(tmp_path: Path, cli: Cli) -> None:
    """The ledger has no entry for an omitted unit, and a week away with a wrong date was published."""
    begun = 472_222 * HOUR_MS
    divided = {"level": "landmark", "step": 24 * HOUR_MS, "unit": HOUR_MS, "open_steps": 1}
    near, far = ([[begun + day * 24 * HOUR_MS, begun + (day + 1) * 24 * HOUR_MS]] for day in (2, 200))
    hours = [observation(name, begun + at * HOUR_MS, 1.0) for at in range(200) for name in "ab"]
    said: Any = None
    for of_b, code in ((near, 0), (far, 2)):
        policies = [
            units(series=name, protection=divided | {"landmarks": of}) for name, of in (("a", near), ("b", of_b))
        ]
        said = cli(
            "replay", saved(tmp_path / "events.jsonl", *policies, *hours), "--out", tmp_path / str(code), code=code
        )
        assert f"{24 if code else 48} of 48 landmark units have an event" in said.err
    assert "landmark units have an event; none in b: the events are from 2023-11-14T22:00Z" in said.err
    assert "add --accept landmarks\n" in said.err
