"""``read events``, ``read rejects``, ``resend``: decided records come again, but nothing that was refused."""

import asyncio
import json
import time
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_app.cli import main
from stream_app.formats import wire
from stream_app.kafka.rebuild.backup import BackupError, ResentEvents, event_line, refused_in
from stream_app.localbroker.broker import LocalBroker
from tests.kafka.acts import send_raw
from tests.kafka.installation import HOUR_MS, START_MS, Installation, readings
from tests.kafka.wards import Wards, send_and_await

AHEAD_MS = 60_000
"""``max_future_ms``."""
Chains = dict[str, list[bytes]]


def printed(installation: Installation, capfd: pytest.CaptureFixture[str], *words: str) -> str:
    """Return what a command prints."""
    capfd.readouterr()
    assert main([*words, "--config", installation.config()]) == 0
    found: str = capfd.readouterr().out
    return found


def chains(installation: Installation) -> tuple[Chains, Chains]:
    """Return releases and ledger, by series."""
    found: tuple[Chains, Chains] = (defaultdict(list), defaultdict(list))
    for topic, outputs in zip((installation.names.releases, installation.names.ledger), found, strict=True):
        for record in installation.read(topic):
            outputs[json.loads(record.value)["series"]].append(record.value)
    return found


def decided(installation: Installation) -> None:
    """Have all sent records decided."""
    installation.decide(len(installation.read(installation.names.events)))


def lived(broker: LocalBroker, folder: Path, name: str) -> Installation:
    """Return an installation that refuses events more than a minute in the future."""
    # A step is a second here, and values of the step in question are many noise scales apart.
    now = {"series": "now-*", "epsilon": 1e5, "protection": {"level": "event", "step": 1000}}
    more: dict[str, Any] = {"max_future_ms": AHEAD_MS}
    made = Installation(broker, folder, name, more=more)
    ruling = {**now, "scheme": {"name": "uniform"}, "value": made.policy["value"]}
    made.more["policies"] = (made.policy, ruling)
    return made


def test_what_was_refused_as_future_is_not_accepted_the_second_time(
    broker: LocalBroker, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """All else comes again with the same bytes. The control sends everything again and remeasures a step."""
    first = lived(broker, tmp_path / "site", "resend-first")
    first.send(readings(60))
    late = {"type": "landmarks", "series": "home-3", "add": [START_MS + HOUR_MS]}
    first.send([late, *readings(5, start=40), {"type": "close", "series": "home-4"}])
    asyncio.run(send_raw(first, first.names.events, b"\xff\x00 no JSON"))
    misrouted = b'{"series":"home-1","timestamp":1,"value":1}'
    asyncio.run(send_raw(first, first.names.events, misrouted, b"elsewhere"))
    begun = int(time.time() * 1000)
    ahead = {"series": "now-1", "timestamp": begun + AHEAD_MS + 5_000}
    first.send([{**ahead, "value": 2.0}])  # refused: five seconds too early
    while time.time() * 1000 < begun + 6_000:
        time.sleep(0.1)
    first.send([{**ahead, "value": 8.0}])
    decided(first)
    rejects = [json.loads(record.value)["reason"] for record in first.read(first.names.rejects)]
    assert "future" in rejects
    assert {"malformed", "misrouted", "duplicate"} <= set(rejects)

    events, refused = tmp_path / "events.jsonl", tmp_path / "rejects.jsonl"
    events.write_text(printed(first, capfd, "read", "events"))
    refused.write_text(printed(first, capfd, "read", "rejects"))
    end = {str(partition): first.committed_of(partition) for partition in range(first.partitions)}
    for file in (events, refused):
        assert json.loads(file.read_text().splitlines()[-1]) == {"end": end}
    total = len(events.read_text().splitlines()) - 1

    second = lived(broker, tmp_path / "site", "resend-second")
    said = json.loads(printed(second, capfd, "resend", str(events), "--rejects", str(refused), "--json"))
    assert said == {"sent": total - len(rejects), "refused": len(rejects), "behind": 0}
    decided(second)
    assert chains(second) == chains(first)
    assert second.read(second.names.rejects) == []
    assert main(["resend", str(events), "--rejects", str(refused), "--config", second.config()]) == 2
    assert "must come first" in capfd.readouterr().err

    control = lived(broker, tmp_path / "site", "resend-control")
    control.send([json.loads(json.loads(line)["value"]) for line in events.read_text().splitlines() if "now-1" in line])
    decided(control)
    (again,) = chains(control)[0]["now-1"]
    (published,) = chains(first)[0]["now-1"]
    assert [round(json.loads(line)["value"]) for line in (published, again)] == [8, 2]


def test_collected_data_are_counted_again(
    broker: LocalBroker, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """They include open steps, announced looks, refused contributions; undecided input is left to its senders."""
    first, wards = Installation(broker, tmp_path / "site", "resend-wards-first"), Wards(4)
    with first.worker() as worker:
        begun = [*readings(20), *wards.begin(), *wards.hours(2, 20), *wards.half(10), *wards.looks()]
        send_and_await(first, worker, [*begun, *wards.hours(1, 10), *wards.half(10)])
        assert worker.stop() == 0
    waiting = list(wards.half(3))
    first.send(waiting)
    events, refused = tmp_path / "events.jsonl", tmp_path / "rejects.jsonl"
    events.write_text(printed(first, capfd, "read", "events"))
    refused.write_text(printed(first, capfd, "read", "rejects"))
    assert len(refused.read_text().splitlines()) > 1, "some contributions were refused"

    second = Installation(broker, tmp_path / "site", "resend-wards-second")
    said = json.loads(printed(second, capfd, "resend", str(events), "--rejects", str(refused), "--json"))
    assert said["behind"] == len(waiting)
    later = list(wards.hours(2, 5))
    for installation, more in ((first, later), (second, [*waiting, *later])):
        with installation.worker() as worker:
            send_and_await(installation, worker, more)
            assert worker.stop() == 0
    for before, after in zip(chains(first), chains(second), strict=True):
        assert len(before["ward-0"]) >= 5
        assert {name: before[name] for name in wards.names} == {name: after[name] for name in wards.names}


def test_a_choice_of_records_is_no_backup(installation: Installation, capfd: pytest.CaptureFixture[str]) -> None:
    """A selection has no last line; neither have events without their beginning, for which a reason is given."""
    total = installation.send(readings(20))
    assert json.loads(printed(installation, capfd, "read", "rejects")) == {"end": {"0": 0, "1": 0}}
    whole = printed(installation, capfd, "read", "events").splitlines()
    assert len(whole) == total + 1
    assert json.loads(whole[-1]) == {"end": {"0": 0, "1": 0}}, "nothing is decided"
    chosen = printed(installation, capfd, "read", "events", "--series", "home-1*").splitlines()
    assert {json.loads(json.loads(line)["value"])["series"] for line in chosen} == {
        f"home-{nth}" for nth in (1, *range(10, 20))
    }
    for words in (["--limit", "99"], ["--since", "0"], ["--uncommitted"]):
        assert sorted(printed(installation, capfd, "read", "events", *words).splitlines()) == sorted(whole[:-1])
    installation.forget_events(1, [0])
    assert main(["read", "events", "--config", installation.config()]) == 0
    said = capfd.readouterr()
    kept = [line for line in whole[:-1] if json.loads(line)["offset"] or json.loads(line)["partition"] == 1]
    assert sorted(said.out.splitlines()) == sorted(kept)
    assert "the records before offset 1 of partition 0 are deleted" in said.err


def backup(folder: Path, end: int = 3, *, topic: str = "landmark.events") -> Path:
    """Write a backup of three events of one partition."""
    path = folder / "events.jsonl"
    records = [
        SimpleNamespace(topic=topic, partition=0, offset=offset, key=b"a", value=b"{%d}" % offset)
        for offset in range(3)
    ]
    path.write_bytes(
        b"".join(event_line(record) + b"\n" for record in records) + wire.dump({"end": {"0": end}}) + b"\n"
    )
    return path


def rejects(folder: Path, end: int, *offsets: int, **members: object) -> Path:
    """Write rejects of these offsets."""
    path = folder / "rejects.jsonl"
    base = {"series": "a", "timestamp": 1, "reason": "late", "topic": "landmark.events", "partition": 0}
    lines: list[dict[str, Any]] = [{**base, "offset": offset, **members} for offset in offsets]
    path.write_bytes(b"".join(wire.dump(line) + b"\n" for line in [*lines, {"end": {"0": end}}]))
    return path


def test_what_is_sent(tmp_path: Path) -> None:
    """All but the refused ones are sent, and nothing after the end of the rejects, of which nobody knows."""
    found = ResentEvents(backup(tmp_path), refused_in(rejects(tmp_path, 3, 1)))
    assert [event.value for event in found] == [b"{0}", b"{2}"]
    assert (found.refused, found.behind) == (1, 0)
    found = ResentEvents(backup(tmp_path, end=1), refused_in(rejects(tmp_path, 2, 0)))
    assert [event.value for event in found] == [b"{1}"]
    assert (found.refused, found.behind) == (1, 1)


def test_what_is_refused(tmp_path: Path) -> None:
    """Each of these gets a reason: rejects ending too early, of other topics or after a loss; incomplete files."""
    events = backup(tmp_path)
    wrong: list[tuple[int, dict[str, object], str]] = [
        (2, {}, "end at offset 2 of partition 0, and the events at 3"),
        (3, {"topic": "other.events"}, "rejected records are of other.events"),
        (3, {"reason": "input-lost"}, "was given up"),
    ]
    for end, members, why in wrong:
        with pytest.raises(BackupError, match=why):
            ResentEvents(events, refused_in(rejects(tmp_path, end, 1, **members)))
    good = rejects(tmp_path, 3)
    lines = events.read_bytes().splitlines(keepends=True)
    for broken, why in (
        (lines[:-1], "the last line `end` is missing,"),
        ([*lines, lines[0]], "after its end"),
        ([lines[1], lines[0], *lines[2:]], "does not follow"),
        ([lines[0], *lines], "does not follow"),
        ([b"{}\n", *lines], "not an event"),
        ([b"\xff\n", *lines], "not a line of `read events`"),
    ):
        events.write_bytes(b"".join(broken))
        with pytest.raises(BackupError, match=why):
            ResentEvents(events, refused_in(good))


@given(key=st.none() | st.binary(max_size=20), value=st.binary(max_size=60))
def test_bytes_come_back_exactly(tmp_path_factory: pytest.TempPathFactory, key: bytes | None, value: bytes) -> None:
    """Whatever a producer had sent."""
    folder = tmp_path_factory.mktemp("bytes")
    record = SimpleNamespace(topic="landmark.events", partition=0, offset=0, key=key, value=value)
    path = folder / "events.jsonl"
    path.write_bytes(event_line(record) + b'\n{"end":{"0":1}}\n')
    assert [tuple(event) for event in ResentEvents(path, refused_in(rejects(folder, 1)))] == [(key, value)]
