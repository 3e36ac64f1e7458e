"""Erasing keys with a real broker: which crash schedules need an old key, and what is left of it later."""

import asyncio
import json
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from stream_app.cli import main
from stream_app.kafka.client.routing import router
from stream_app.localbroker.broker import LocalBroker
from stream_app.privacy.noise.draws import noise_stream
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.policy import Policy, policy_of
from stream_app.privacy.values import Raw
from stream_app.setup import keyfile
from tests.kafka.acts import abort_entries, stopped
from tests.kafka.installation import HOUR_MS, POLICY, START_MS, Installation
from tests.kafka.seized import disk_of, forms, memory_of
from tests.kafka.test_faults import ledger_of
from tests.kafka.wards import contribution, send_and_await, ward_policy, watermark

DAY_MS = 86_400_000
FIRST = START_MS // DAY_MS
"""Epoch of the first day."""
DAYS = 8
KEPT = FIRST + 5
"""First epoch that is kept."""
DAILY: dict[str, Any] = {
    **POLICY,
    "protection": {"level": "event", "step": DAY_MS},
    "scheme": {"name": "uniform"},
    "value": {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.01},
}


def value_of(series: int, day: int) -> float:
    """Return the reading of a home on a day."""
    return (series * 31 + day * 17) % 1000 / 100


def daily(series: range, days: range) -> Iterator[dict[str, Any]]:
    """Yield one event per day for some homes."""
    for day in days:
        for number in series:
            timestamp = START_MS + day * DAY_MS
            yield {"series": f"home-{number}", "timestamp": timestamp, "value": value_of(number, day)}


INSTALLED: dict[str, Any] = {"policy": DAILY, "more": {"key_epoch_ms": DAY_MS}}


class Erasing:
    """Runs `keys erase` on an installation's key."""

    def __init__(self, installation: Installation, capsys: pytest.CaptureFixture[str]) -> None:
        """Write the configuration of the command."""
        policies = installation.folder / "policies.jsonl"
        policies.write_text(json.dumps(installation.policy))
        self.key = installation.folder / "key"
        self._config = installation.config(f'policies_file = "{policies}"', f"key_epoch_ms = {DAY_MS}")
        self._capsys = capsys

    def __call__(self, *options: str, before: int = KEPT) -> tuple[int, dict[str, Any]]:
        """Return exit code and report."""
        words = ["keys", "erase", str(self.key), "--before", str(before), "--config", self._config, "--json"]
        self._capsys.readouterr()
        code = main([*words, *options])
        out = self._capsys.readouterr().out
        return code, json.loads(out) if out else {}


def test_a_key_is_kept_while_a_restart_may_need_it(
    installation: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    """Old epochs' undecided events and binding entries refuse; without the check the partition would be lost."""
    erase = Erasing(installation, capsys)
    total = installation.send(daily(range(20), range(DAYS)))
    with installation.worker() as worker:
        worker.await_committed(total)
        assert erase()[0] == 2, "the worker holds the key"
        code, report = erase("--dry-run")
        assert (code, report["refusals"], report["first_epoch"]) == (0, [], 0), "looking is free"
        worker.stop()

    # An event of an old epoch waits, one of a kept epoch, and one of an old epoch that comes too late anyway.
    late = list(daily(range(999, 1000), range(4, 7, 2)))
    partition = router(installation.partitions)(b"home-999")
    offset = sum(record.partition == partition for record in installation.read(installation.names.events))
    total += installation.send([*late, *daily(range(1), range(2, 3))])
    code, report = erase()
    assert code == 1
    found = report["partitions"]
    assert [sum(one[name] for one in found) for name in ("waiting", "otherwise", "lost", "binding")] == [3, 1, 1, 0]
    assert "--accept-rejects" in report["refusals"][0]
    assert str(late[0]["value"]) not in json.dumps(report)
    assert erase("--accept-rejects", "--dry-run")[0] == 0
    assert erase("--dry-run", before=FIRST + 4)[0] == 0, "its epoch is kept"

    # A worker dies between these events' entries and its commit: the entries bind.
    entries = ledger_of(installation, late, "--config", str(installation.folder / "command.toml"))
    assert {entry["epoch"] for entry in entries if entry["entry"] == "release"} == {FIRST + 4, FIRST + 6}
    asyncio.run(abort_entries(installation, partition, offset, entries))
    code, report = erase("--accept-rejects")
    assert code == 1
    assert [(one["binding"], one["stopped"]) for one in report["partitions"] if one["binding"]] == [(3, "tail-differs")]
    assert "Restart with the key file" in report["refusals"][0]
    assert erase("--dry-run", before=FIRST + 4)[0] == 0, "entries of kept epochs come out the same"

    # What would have happened.
    lost = installation.folder / "lost"
    shutil.copy(erase.key, lost)
    assert main(["keys", "erase", str(lost), "--before", str(KEPT), "--offline", "--epoch-ms", str(DAY_MS)]) == 0
    stopped(installation, "tail-differs", key_file=str(lost), exit_when_stopped="any")

    installation.decide(total)
    code, report = erase()
    assert (code, report["erased"], report["first_epoch"]) == (0, True, KEPT)
    assert erase(before=FIRST)[0] == 2, "no way back"

    total += installation.send([*daily(range(2000, 2001), range(3, 6)), *daily(range(999, 1000), range(7, 8))])
    installation.decide(total)
    rejects = [json.loads(record.value) for record in installation.read(installation.names.rejects)]
    assert sorted((reject["series"], reject["reason"]) for reject in rejects) == [
        ("home-0", "late"),
        *[("home-2000", "key-erased")] * 2,
    ]
    assert installation.command("audit") == 0
    installation.answered_once()
    assert installation.command("recover") == 0, "the state is rebuilt without any key"


def refuses_strangers(installation: Installation, capsys: pytest.CaptureFixture[str]) -> None:
    """Check that their state does not allow erasing keys these workers do not use, or epochs of another length."""
    erase = Erasing(installation, capsys)
    erase.key = installation.folder / "other"
    keyfile.create(erase.key)
    code, report = erase("--dry-run")
    assert code == 1
    assert "found key" in report["refusals"][0]
    week = Erasing(installation, capsys)
    config = installation.folder / "command.toml"
    config.write_text(config.read_text().replace(f"= {DAY_MS}", f"= {7 * DAY_MS}"))
    code, report = week("--dry-run", before=10)
    assert code == 1
    assert "found configuration" in report["refusals"][0]
    assert week("--dry-run", before=KEPT)[0] == 2, "in weeks that lies ahead"


def test_open_steps_keep_their_key(installation: Installation, capsys: pytest.CaptureFixture[str]) -> None:
    """An open collected step would be passed over when it closes, now or by a waiting watermark."""
    installation.policy = {**DAILY, "protection": {"level": "event", "step": HOUR_MS}}
    morning = 17  # hours from the first event to midnight
    ward, erase = "ward-1", Erasing(installation, capsys)
    events = [ward_policy(ward), watermark(ward, morning - 1, "00" * 32)]
    events += [contribution(ward, hour, "m-1", "walk") for hour in (morning - 1, morning)]
    with installation.worker() as worker:
        send_and_await(installation, worker, events)
        assert worker.stop() == 0

    def told() -> tuple[int, int, int]:
        """Return the exit code, the waiting records, and the releases that would be lost."""
        code, report = erase("--dry-run", before=FIRST + 1)
        found = report["partitions"]
        return code, sum(one["waiting"] for one in found), sum(one["lost"] for one in found)

    assert told() == (1, 0, 1), "the step before midnight; the one after it stays"
    assert erase("--dry-run", before=FIRST)[0] == 0
    installation.send([watermark(ward, morning, "11" * 32)])
    assert told() == (1, 1, 1), "it closes when a worker comes"
    assert erase("--dry-run", "--accept-rejects", before=FIRST + 1)[0] == 0
    with installation.worker() as worker:
        send_and_await(installation, worker, [])
        assert worker.stop() == 0
    code, _, lost = told()
    assert (code, lost) == (0, 0)


def stripped(ring: KeyRing, policy: Policy, release: dict[str, Any]) -> list[int]:
    """Return the raw cells from which a release can result, for anyone who holds these keys."""
    step_ms = release["timestamp"]
    epoch = ring.epoch_of(step_ms)
    secret = ring.secret_of(max(epoch, ring.first_epoch))  # the nearest that there is
    assert secret is not None
    measurement = policy.kind.read(release["measurement"])
    found = []
    for cell in range(1001):
        cells = policy.kind.quantise(Raw(cell / 100))
        assert cells is not None
        noise = noise_stream(secret, epoch, policy, release["series"], step_ms, release["epsilon_nano"], cells)
        if policy.kind.perturb(noise, cells, release["epsilon_nano"]) == measurement:
            found.append(cell)
    return found


def test_forward_secrecy(installation: Installation, broker: LocalBroker, capsys: pytest.CaptureFixture[str]) -> None:
    """Anyone who seizes everything after the erasure finds no erased secret and strips no earlier release.

    Controls: the worker before it held them, the live ones are found, and releases of live epochs are stripped.
    """
    total = installation.send(daily(range(6), range(DAYS)))
    whole = keyfile.load(installation.folder / "key", DAY_MS)
    gone = [found for epoch in (0, *range(FIRST, KEPT)) if (found := whole.secret_of(epoch)) is not None]
    live = whole.secret_of(KEPT + 2)
    assert live is not None
    with installation.worker() as worker:
        worker.await_committed(total)
        memory = memory_of(worker.process.pid)
        assert all(secret in memory for secret in gone), "the attack finds what is there"
        worker.stop()
    refuses_strangers(installation, capsys)
    assert Erasing(installation, capsys)()[0] == 0
    total += installation.send(daily(range(6), range(DAYS, DAYS + 1)))
    with installation.worker() as worker:
        worker.await_committed(total)
        memory = memory_of(worker.process.pid)
        assert worker.metric("landmark_first_key_epoch") == KEPT
        worker.stop()
    newest = whole.secret_of(FIRST + DAYS)
    assert newest is not None
    assert newest in memory
    assert not [secret for secret in gone for form in forms(secret) if form in memory]
    ring = keyfile.load(installation.folder / "key", DAY_MS)
    looked_for = {secret: forms(secret) for secret in (*gone, ring.secret)}
    seized = disk_of(installation.folder, broker.folder)
    on_disk = {secret for held in seized for secret, spelt in looked_for.items() if any(form in held for form in spelt)}
    assert on_disk == {ring.secret}

    policy = policy_of({name: part for name, part in DAILY.items() if name != "series"}, 1)
    hits = {True: 0, False: 0}
    for record in installation.read(installation.names.releases):
        release = json.loads(record.value)
        number, day = int(release["series"].removeprefix("home-")), (release["timestamp"] - START_MS) // DAY_MS + 1
        truth = round(value_of(number, day) * 100)
        hits[FIRST + day >= KEPT] += truth in stripped(ring, policy, release)
    assert hits[True] == 6 * (DAYS + 1 - 5), "the holder of live keys takes their noise off"
    assert hits[False] <= 3, "of 30, each a guess that comes true once in 2,000 times"
