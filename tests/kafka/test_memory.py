"""An idle worker holds no decided record, seed or noise that a person seizing its machine would find."""

import json
import os
import secrets  # noqa: TID251 - seeds and members that no other run has
import signal
import struct
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from stream_app.privacy.noise.draws import coin_stream, noise_stream, start_stream
from stream_app.privacy.noise.randomness import BLOCK_BYTES, WORD_BYTES, BitStream
from stream_app.privacy.policy import policy_of
from stream_app.privacy.values import Raw
from stream_app.setup import keyfile
from tests.kafka.installation import HOUR_MS, POLICY, START_MS, Installation
from tests.kafka.seized import forms, held_in, memory_of
from tests.kafka.wards import COLLECTS, contribution, ward_policy, watermark
from tests.patience import PATIENCE_SECONDS, awaited

WIPING = {
    "PYTHONMALLOC": "malloc_debug",
    "GLIBC_TUNABLES": "glibc.malloc.perturb=85:glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0",
}
"""Makes Python and the C library overwrite freed memory (docs/guarantee.md): anything found is still held.

The C library alone leaves the last eight bytes of a block, which contain the number of a float.
"""
WORKER = 'import sys; from stream_app.cli import main; sys.exit(main(["worker"]))'
LEAVING = """
import gc, signal, sys
from stream_app.cli import main

def leave(*_):
    seed = int(sys.stdin.readline())
    cycle = [None, (seed**3).to_bytes(16)]
    cycle[0] = cycle
    gc.collect()
    floats = [(seed + nth) / 7 for nth in range(200)]
    print("left", flush=True)

signal.signal(signal.SIGUSR1, leave)
sys.exit(main(["worker"]))
"""
"""A worker that, when told to, drops floats and a cycle that survived a collection, as its libraries do."""
IDLE_SECONDS = 5  # a start and a fetch have their own collections
HOMES, WARD = 40, "ward-1"  # on two partitions: enough on each to be decided together
MICRO = 1_000_000
RATE_NANO: int = COLLECTS[2]["intrusion_nano"]


def homes(hour: int) -> list[dict[str, Any]]:
    """Return an event for each of some homes, with seven-digit values that no other test or run has."""
    timestamp = START_MS + hour * HOUR_MS
    drawn = (MICRO + secrets.randbelow(800_000) * 10 + 1 + secrets.randbelow(9) for _ in range(HOMES))
    return [
        {"series": f"home-{nth}", "timestamp": timestamp, "value": micro / MICRO} for nth, micro in enumerate(drawn)
    ]


class Secrets:
    """What nobody may find in the memory of the worker that decided these events, and what it must hold."""

    def __init__(self, installation: Installation) -> None:
        """Store the key; no events are known yet."""
        self._installation = installation
        self._ring = keyfile.load(installation.folder / "key")
        self._values: dict[tuple[str, int], float] = {}
        self.gone: dict[bytes, str] = {}

    def send(self, events: list[dict[str, Any]]) -> None:
        """Send events and note their raw parts."""
        for event in events:
            match event.get("type"):
                case "watermark" | "intrusion":
                    seed = bytes.fromhex(event["seed"])
                    self.gone |= dict.fromkeys(forms(seed), f"seed of {event}") | self._start_bits(seed, event)
                case "contribution":
                    self.gone[event["member"].encode()] = f"member of {event}"
                case None:
                    self._values[event["series"], event["timestamp"]] = event["value"]
                    self.gone[json.dumps(event["value"]).encode()] = f"value of {event}"
                    self.gone[struct.pack("<d", event["value"])] = f"double of {event}"
        self._installation.send(events)

    def await_releases(self, count: int) -> None:
        """Wait until this many releases exist, and record the bits from which they were made."""
        read = partial(self._installation.read, self._installation.names.releases)
        awaited(lambda: len(read()) >= count, lambda: f"{len(read())} releases")
        policy = policy_of({name: part for name, part in self._installation.policy.items() if name != "series"}, 1)
        for record in read():
            release = json.loads(record.value)
            series, step_ms = release["series"], release["timestamp"]
            if series == WARD:
                continue
            self.gone |= _bits(coin_stream(self._ring.secret, 0, policy, series, step_ms), f"coin of {release}")
            cells = policy.kind.quantise(Raw(self._values[series, step_ms]))
            assert cells is not None
            noise = noise_stream(self._ring.secret, 0, policy, series, step_ms, release["epsilon_nano"], cells)
            self.gone |= _bits(noise, f"noise of {release}")

    @property
    def held(self) -> set[bytes]:
        """What a worker needs: its key, and the names of the series that it keeps decoded."""
        return {self._ring.secret, *(f"home-{nth}".encode() for nth in range(HOMES)), WARD.encode()}

    def _start_bits(self, seed: bytes, event: dict[str, Any]) -> dict[bytes, str]:
        policy = policy_of({k: v for k, v in _ward().items() if k not in {"type", "series", "version"}}, 1)
        step_ms = event.get("timestamp", START_MS) // HOUR_MS * HOUR_MS
        looks = int(event["type"] == "intrusion")
        return _bits(start_stream(seed, policy, WARD, step_ms, RATE_NANO, looks), f"start noise of {event}")


def _ward() -> dict[str, Any]:
    return ward_policy(WARD, collect=COLLECTS[2])


def _bits(stream: BitStream, what: str) -> dict[bytes, str]:
    """Return the first block of a stream, and the word that is taken from it first."""
    block = stream.take(8 * BLOCK_BYTES).to_bytes(BLOCK_BYTES, "big")
    return {block: what, block[-WORD_BYTES:]: what}


@contextmanager
def wiping_worker(installation: Installation, code: str = WORKER) -> Iterator["subprocess.Popen[str]"]:
    """Run a worker in its own process, whose freed memory is overwritten from the start; yield it."""
    settings = installation.settings().model_dump(mode="json", exclude_none=True)
    named = {
        f"LANDMARK_STREAM_{name.upper()}": value if isinstance(value, str) else json.dumps(value)
        for name, value in settings.items()
    }
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **named, **WIPING},  # noqa: TID251 (the child's environment, not ours)
        cwd=installation.folder,
    )
    try:
        yield process
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0
    finally:
        process.kill()
        process.wait()


def test_an_idle_worker_keeps_nothing_of_what_it_decided(installation: Installation) -> None:
    """Nothing holds values, members, seeds, noise or coins once they are decided, nor when they are recalled."""
    value = {**POLICY["value"], "resolution": 1 / MICRO}
    installation.policy = {**POLICY, "scheme": {"name": "uniform"}, "value": value}
    known = Secrets(installation)
    member = f"canary-{secrets.token_hex(4)}"
    with wiping_worker(installation) as process:
        wards = [_ward(), watermark(WARD, 0, secrets.token_hex(32)), contribution(WARD, 0, member, "walk")]
        wards += [watermark(WARD, 1, secrets.token_hex(32)), contribution(WARD, 1, member, "ride")]
        wards += [{"type": "intrusion", "series": WARD, "seed": secrets.token_hex(32)}]
        known.send([*wards, *homes(0)])
        known.await_releases(1 + HOMES)
        assert found_of(process, known.held, known.gone) == []
    with wiping_worker(installation) as process:  # reads watermarks and contributions again, whose steps are open
        known.send(homes(1))
        known.await_releases(1 + 2 * HOMES)
        assert found_of(process, known.held, known.gone) == []


def test_an_idle_worker_collects_what_is_old(installation: Installation) -> None:
    """It keeps no numbers in the free list of floats, and no cycles missed by collecting only younger objects."""
    seed = 2**40 + secrets.randbelow(2**40)
    gone = {struct.pack("<d", (seed + nth) / 7): "a float" for nth in range(200)} | {(seed**3).to_bytes(16): "a cycle"}
    total = installation.send(homes(0))
    with wiping_worker(installation, LEAVING) as process:
        awaited(lambda: installation.committed() >= total)
        time.sleep(IDLE_SECONDS)
        assert process.stdin is not None
        assert process.stdout is not None
        print(seed, file=process.stdin, flush=True)
        process.send_signal(signal.SIGUSR1)
        assert process.stdout.readline() == "left\n"
        assert found_of(process, {keyfile.load(installation.folder / "key").secret}, gone) == []


def found_of(process: "subprocess.Popen[str]", kept: set[bytes], gone: dict[bytes, str]) -> list[str]:
    """Return what is found but should be gone, after the process had time to release it.

    A look that finds something gives a warning, so that a run that passes late says what was released so late.
    """
    start = time.monotonic()
    while True:
        time.sleep(3)
        memory = memory_of(process.pid)
        held = held_in(memory, kept | gone.keys())
        assert kept <= held, "the scan finds what is there"
        found = sorted({what for secret, what in gone.items() if secret in held})
        elapsed = time.monotonic() - start
        if not found or elapsed > PATIENCE_SECONDS:
            return found
        warnings.warn(f"after {elapsed:.0f} s {len(memory):,} bytes hold {len(found)}, as {found[0]}", stacklevel=2)
