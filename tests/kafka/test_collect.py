"""Collected data in real workers: counts survive restarts although they are never written."""

import asyncio
import json
import re
import shutil
from typing import Any

import pytest

from stream_app.cli import main
from stream_app.kafka.client.routing import router
from tests.kafka.acts import abort_entries, places_of, stopped
from tests.kafka.installation import HOUR_MS, START_MS, Installation, input_of, readings
from tests.kafka.replayed import assert_topics_hold_what_replay_computes, replay
from tests.kafka.wards import (
    COLLECTS,
    Wards,
    assert_nothing_open_is_passed,
    contribution,
    send_and_await,
    ward_policy,
    watermark,
    whole_counts,
)

INSTALLED: dict[str, Any] = {"more": {"batch_records": 40}}


def test_open_steps_outlive_their_workers(installation: Installation) -> None:
    """Workers are stopped, killed, lose their state or are joined by another, each time amid open steps.

    One of them died between ledger entries and commit: the counts that another resumes give the same bytes.
    """
    wards = Wards(5)
    with installation.worker() as worker:
        send_and_await(installation, worker, [*readings(30), *wards.begin(), *wards.hours(2, 30), *wards.half(20)])
        assert worker.stop() == 0
    installation.send([*wards.half(10), *wards.looks(), *wards.hours(1, 10)])
    binding = _abort_what_follows(installation)
    assert binding > len(wards.names)
    with installation.worker() as worker:
        send_and_await(installation, worker, wards.half(5))
        worker.process.kill()
    shutil.rmtree(installation.settings().data_folder)
    with installation.worker("a") as worker, installation.worker("b") as other:
        send_and_await(installation, worker, [*wards.half(10), *wards.hours(2, 10), *wards.half(10)])
        worker.process.kill()
        send_and_await(installation, other, [*wards.half(10), *wards.hours(2, 10), *wards.half(10)])
        assert other.stop() == 0
    assert_topics_hold_what_replay_computes(installation)
    assert assert_nothing_open_is_passed(installation) > 0
    seen: dict[tuple[str, int], list[bytes]] = {}
    for record in installation.read(installation.names.ledger, "read_uncommitted"):
        entry = json.loads(record.value)
        seen.setdefault((entry["series"], entry["sequence"]), []).append(record.value)
    assert all(len(set(copies)) == 1 for copies in seen.values())
    assert sum(len(copies) > 1 for copies in seen.values()) >= binding
    counted = [json.loads(record.value) for record in installation.read(installation.names.releases)]
    assert sum(release["series"].startswith("ward") for release in counted) == 7 * len(wards.names)


def _abort_what_follows(installation: Installation) -> int:
    """Write the wards' entries of undecided input, and abort them; return their number."""
    committed = [json.loads(record.value) for record in installation.read(installation.names.ledger)]
    last = {entry["series"]: entry["sequence"] for entry in committed}
    ends = {record.partition: record.offset for record in installation.read(installation.names.events)}
    partition_of = router(installation.partitions)
    following: dict[int, list[dict[str, object]]] = {}
    for line in (replay(installation) / "ledger.jsonl").read_bytes().splitlines():
        entry = json.loads(line)
        if entry["sequence"] > last[entry["series"]] and entry["series"].startswith("ward"):
            following.setdefault(partition_of(entry["series"].encode()), []).append(entry)
    for partition, entries in following.items():
        asyncio.run(abort_entries(installation, partition, ends[partition], entries))
    return sum(map(len, following.values()))


def test_lost_changelog_loses_no_count(installation: Installation) -> None:
    """`recover` finds the open steps in the input; the run continues as if nothing had happened."""
    wards = Wards(5)
    with installation.worker() as worker:
        send_and_await(installation, worker, [*wards.begin(), *wards.hours(2, 30), *wards.half(20)])
        worker.stop()
    installation.delete(installation.names.changelog)
    stopped(installation, "row-missing")
    assert installation.command("recover") == 0
    with installation.worker() as worker:
        send_and_await(installation, worker, [*wards.half(10), *wards.hours(2, 10)])
        assert worker.stop() == 0
    assert_topics_hold_what_replay_computes(installation)
    assert installation.command("audit") == 0


def test_deleted_contributions_stop_until_given_up(
    installation: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    """A count of the rest would pass for the whole: the steps are given up, and never released.

    They stay given up however often the rows are rebuilt: immediately, and after a watermark with the changelog lost.
    """
    wards = Wards(5)
    # Nothing is approximated, and no count is noisy, almost surely.
    exact = {"epsilon": 1e5, "scheme": {"name": "uniform"}, "collect": COLLECTS[0]}
    before = [event | exact if event["type"] == "policy" else event for event in wards.begin()]
    before += [*wards.hours(2, 30), *wards.half(20)]
    with installation.worker() as worker:
        send_and_await(installation, worker, before)
        worker.stop()
    ends = {record.partition: record.offset for record in installation.read(installation.names.events)}
    for partition, end in ends.items():
        installation.forget_events(end - 1, [partition])
    stopped(installation, "input-lost", "would look complete", exit_when_stopped="any")
    assert installation.command("recover") == 2
    assert "input-lost" in capsys.readouterr().err
    assert installation.command("recover", "--accept-lost-input") == 0
    given_up = _given_up(capsys)
    assert sum(given_up.values()) == len(wards.names)
    assert installation.command("recover") == 0, "what was accepted need not be accepted again"
    assert _given_up(capsys) == given_up
    told = [json.loads(record.value) for record in installation.read(installation.names.rejects)]
    lost = {reject["partition"]: reject["offset"] for reject in told if reject["reason"] == "input-lost"}
    assert lost == {partition: ends[partition] - 2 for partition, count in given_up.items() if count}
    after = list(wards.hours(1, 10))
    with installation.worker() as worker:
        send_and_await(installation, worker, after)
        assert worker.stop() == 0
    installation.delete(installation.names.changelog)
    assert installation.command("recover") == 0
    assert _given_up(capsys) == given_up
    rest = list(wards.hours(4, 10))
    after += rest
    with installation.worker() as worker:
        send_and_await(installation, worker, rest)
        assert worker.stop() == 0
    found: dict[tuple[str, int], dict[str, int]] = {}
    for record in installation.read(installation.names.releases):
        release = json.loads(record.value)
        if release["series"] in wards.names:
            found[release["series"], (release["timestamp"] - START_MS) // HOUR_MS] = release["value"]
    # Hours 2 and 3 were open when their contributions were deleted. A lost watermark may have opened what the next one,
    # that of hour 3, would open, and so 4 too: 5 is the first hour of which all can be counted.
    counted = whole_counts([*before, *after])
    assert found == {(name, hour): counted[name, hour] for name in wards.names for hour in (0, 1, 5, 6)}
    assert installation.command("audit") == 0


def _given_up(capsys: pytest.CaptureFixture[str]) -> dict[int, int]:
    """Return, for each partition, how many series have steps given up according to `recover`."""
    found = json.loads(capsys.readouterr().out)["partitions"]
    return {one["partition"]: one["lost_counts"] for one in found}


def test_watermarks_over_many_steps(installation: Installation) -> None:
    """Watermarks that each close thousands of steps fit their transactions, and are released completely."""
    series = [f"ward-{nth}" for nth in range(3)]
    events = [ward_policy(name) for name in series]
    for turn in range(2):
        events += [watermark(name, 10_000 * turn, f"{turn:064x}") for name in series]
        events += [contribution(name, 10_000 * turn, "m-1", "walk") for name in series]
    with installation.worker(log_level="debug") as worker:
        send_and_await(installation, worker, events)
        assert worker.stop() == 0
    assert_topics_hold_what_replay_computes(installation)
    inputs = [(record.partition, input_of(record)) for record in installation.read(installation.names.releases)]
    assert max(inputs.count(place) for place in set(inputs)) == 10_000


def test_counts_are_found_nowhere(installation: Installation) -> None:
    """Members, seeds and raw counts are only in the input: not in state, changelog, outputs, heads or logs."""
    signing = installation.folder / "signing.key"
    assert main(["keys", "new", str(signing), "--signing"]) == 0
    installation.more |= {"signing_key_file": signing, "head_interval_ms": 300}
    seeds = [f"5eed{nth:060x}" for nth in range(3)]
    items = 4_321
    events = [ward_policy("ward-1", epsilon=0.01), watermark("ward-1", 0, seeds[0])]
    events += [contribution("ward-1", 0, f"canary-{nth}", "walk") for nth in range(items)]
    events += [contribution("ward-1", 0, "canary-1", "ride"), contribution("ward-1", 1, "canary-2", "canary-value")]
    with installation.worker(log_level="debug") as worker:
        send_and_await(installation, worker, events)
        worker.process.kill()
    with installation.worker(log_level="debug") as worker:
        send_and_await(installation, worker, [watermark("ward-1", 1, seeds[1]), watermark("ward-1", 2, seeds[2])])
        worker.stop()
    names = installation.names
    places = places_of(installation, worker.log.read_bytes())
    canaries = [b"canary", *(seed.encode() for seed in seeds), *(bytes.fromhex(seed) for seed in seeds)]
    found = {(name, canary) for name, content in places.items() for canary in canaries if canary in content}
    # The topic of the events has what is looked for: the search can find it.
    assert found == {(names.events, canary) for canary in canaries[: 1 + len(seeds)]}
    number = re.compile(rb"(?<![0-9A-Za-z.])%d(?![0-9A-Za-z.])" % items)
    assert [name for name, content in places.items() if number.search(content)] == []
    counted = [record for record in installation.read(names.releases) if record.key == b"ward-1"]
    assert len(counted) == 2
    assert places[names.heads]
