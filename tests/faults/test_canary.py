"""Raw values on every path through the system, searched for in everything that the system leaves behind."""

import asyncio
import os
import signal
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import rocksdict

from stream_app.localbroker.broker import LocalBroker
from stream_app.monitoring.loggable import loggable
from tests.faults.canary import Aviary, Search, files
from tests.faults.fleet import Fleet, Site, Worker
from tests.faults.topics import Sent, Topics
from tests.faults.verdict import judge
from tests.faults.workload import START_MS, STEP_MS, policy
from tests.patience import PATIENCE_SECONDS
from tests.run import ACCEPTING

WIDE = {"kind": "number", "lower": 0, "upper": 1e9, "resolution": 0.001}
BOUNDS = {"south": -11, "west": -38, "north": -9, "east": -36}
POLICIES: tuple[dict[str, Any], ...] = (
    {"series": "number-*", **policy(WIDE, "adaptive")},
    {"series": "filtered-*", **policy(WIDE, "balanced")},
    {"series": "narrow-*", **policy({**WIDE, "upper": 10}, "uniform")},
    {"series": "unclamped-*", **policy({**WIDE, "clamp": False}, "skip")},
    {"series": "counts-*", **policy({"kind": "counts", "keys": ["walk", "ride"]}, "balanced", epsilon=1e-6)},
    {
        "series": "place-*",
        **policy(
            {"kind": "location", "radius": 100_000, "resolution": 1, "bounds": BOUNDS}, "adaptive", filter="level"
        ),
    },
    {"series": "category-*", **policy({"kind": "category", "categories": ["home", "work"]}, "adaptive")},
    {"series": "lenient-*", **policy({**WIDE, "invalid": 5}, "uniform", level="event")},
)
STEPS = 12
MORE = {"log_level": "debug", "max_future_ms": 10**11, "batch_records": 20}
FUTURE_MS = START_MS + 10**13
PATHS = ("/metrics", "/healthz", "/readyz", "/", "/table", "/table/state/", "/tables/state/number-0", "/stats")


def observation(series: str, step: int, value: object, **more: object) -> bytes:
    """Return an event."""
    return orjson.dumps({"series": series, "timestamp": START_MS + step * STEP_MS, "value": value, **more})


def decided(aviary: Aviary, step: int) -> Iterator[tuple[str, bytes]]:
    """Yield one event per series, with a valid value of each kind."""
    for series in ("number-0", "filtered-0", "narrow-0", "unclamped-0", "lenient-0"):
        yield series, observation(series, step, aviary.number(series))
    yield "counts-0", observation("counts-0", step, {"walk": aviary.count("counts"), "ride": aviary.count("counts")})
    north, east = aviary.degrees("place", -11, -9), aviary.degrees("place", -38, -36)
    yield "place-0", observation("place-0", step, {"latitude": north, "longitude": east})
    yield "lenient-0", observation("lenient-0", step + 100, aviary.text("substituted"))


def refused(aviary: Aviary) -> Iterator[tuple[str, bytes]]:
    """Yield records that are rejected, one for each reason and way."""
    last = START_MS + STEPS * STEP_MS
    yield "number-0", observation("number-0", STEPS - 1, aviary.number("duplicate"))
    yield "number-0", observation("number-0", 1, aviary.number("late"))
    yield "stray-0", observation("stray-0", 1, aviary.number("no-policy"))
    yield "category-0", observation("category-0", 1, aviary.text("unknown category"))
    yield "number-0", observation("number-0", STEPS + 1, aviary.text("text for a number"))
    yield "counts-0", observation("counts-0", STEPS + 1, {"walk": aviary.count("short counts")})
    yield "counts-0", observation("counts-0", STEPS + 1, {aviary.text("unknown key"): 1, "walk": 1, "ride": 1})
    yield "place-0", observation("place-0", STEPS + 1, {"latitude": aviary.number("far out"), "longitude": 0})
    yield "number-0", orjson.dumps({"series": "number-0", "timestamp": FUTURE_MS, "value": aviary.number("future")})
    yield "closed-0", orjson.dumps({"type": "policy", "series": "closed-0", "version": 1, **policy(WIDE, "uniform")})
    yield "closed-0", orjson.dumps({"type": "close", "series": "closed-0"})
    yield "closed-0", observation("closed-0", STEPS + 1, aviary.number("closed"))
    yield "number-0", observation("number-0", STEPS + 1, aviary.number("truncated"))[:-1]
    yield "number-0", b"\xff" + observation("number-0", STEPS + 1, aviary.number("no utf-8"))
    yield "number-0", orjson.dumps({"series": "number-0", "timestamp": aviary.text("bad timestamp"), "value": 1})
    yield "number-0", orjson.dumps({"series": "number-0", "timestamp": aviary.number("broken timestamp"), "value": 1})
    yield "number-0", observation("number-0", STEPS + 1, 1, type=aviary.text("unknown type"))
    yield "number-0", orjson.dumps({"series": aviary.number("number for a series"), "timestamp": last, "value": 1})
    yield "number-0", observation(aviary.text("long series") * 20, 1, 1)
    yield "number-0", observation("number-0", STEPS + 1, [aviary.number("nested"), {"a": aviary.text("nested")}])
    yield "number-0", b"[" * 5_000 + aviary.text("deep").encode() + b"]" * 5_000
    yield "number-0", observation("number-0", STEPS + 1, 1, note=aviary.text("too large") * 15_000)
    yield "number-0", struct.pack("<d", aviary.number("no json at all"))
    yield "number-0", orjson.dumps({"type": "landmarks", "series": "number-0", "add": [aviary.text("bad landmark")]})
    yield (
        "number-0",
        orjson.dumps({"type": "policy", "series": "number-0", "version": 2, "epsilon": aviary.text("bad policy")}),
    )
    yield "number-0", observation("number-0", STEPS + 2, 1, note=aviary.text("unknown member"))


def records(aviary: Aviary) -> Iterator[Sent]:
    """Yield the records of every path, including misplaced ones and headers."""
    for step in range(STEPS):
        for series, value in decided(aviary, step):
            yield Sent(series.encode(), value)
    for series, value in refused(aviary):
        yield Sent(series.encode(), value)
    yield Sent(aviary.text("wrong key").encode(), observation("number-0", STEPS + 3, aviary.number("misrouted")))
    yield Sent(None, observation("number-0", STEPS + 3, aviary.number("no key")))
    for partition in range(2):
        yield Sent(b"number-1", observation("number-1", 1, aviary.number("either place")), partition)
    header = aviary.text("header").encode()
    yield Sent(b"number-0", observation("number-0", STEPS + 4, aviary.number("with header")), None, (("note", header),))


def rows(folder: Path) -> dict[str, bytes]:
    """Return the keys and values of every database below a folder, whose blocks are compressed on disk."""
    content = {}
    for path in sorted({file.parent for file in folder.rglob("CURRENT")}):
        database = rocksdict.Rdict(str(path), rocksdict.Options(raw_mode=True))
        content[f"rows of {path.name}"] = b"".join(key + value for key, value in database.items())
        database.close()
    return content


def commands(site: Site, aviary: Aviary, inputs: Path) -> Iterator[tuple[str, bytes]]:
    """Yield what every command prints that reads the input or the outputs, on success and on failure."""
    config, out = str(site.config()), site.folder / "replay"

    def run(*words: str, code: int = 0) -> tuple[str, bytes]:
        done = site.command(*words, code=code)
        return " ".join(words[:2]), done.stdout + done.stderr

    yield run("replay", *ACCEPTING, str(inputs), "--out", str(out), "--key", str(site.key), "--config", config)
    for name in ("releases", "ledger", "rejects"):
        yield f"replay: {name}", (out / f"{name}.jsonl").read_bytes()
        yield run("read", name, "--config", config)
    yield run("audit", "--config", config)
    yield run("audit", "--config", config, "--json")
    yield run("audit", "--ledger", str(inputs), code=2)
    yield run("policy", str(inputs), "--config", config, code=2)
    yield run("check", str(inputs), code=2)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        unreachable = config.replace("a.toml", "unreachable.toml")
        text = Path(config).read_text().replace(site.bootstrap, f"127.0.0.1:{nobody.getsockname()[1]}")
        Path(unreachable).write_text(text)
        yield run("send", *ACCEPTING, str(inputs), "--config", unreachable, code=2)
    for nth, (timestamp, value, encoding) in enumerate(
        (
            ("2026-01-31T08:00:00", aviary.number("csv, no offset"), "utf-8"),
            (aviary.text("csv, bad timestamp"), aviary.text("csv, text"), "utf-8"),
            ("1", f"é{aviary.text('csv, latin')}", "latin-1"),
        )
    ):
        table = site.folder / f"table{nth}.csv"
        table.write_bytes(f"when,what\n{timestamp},{value}\n".encode(encoding))
        mapping = ("--series", "csv-0", "--timestamp-column", "when", "--value-columns", "what")
        yield run("replay", str(table), *mapping, "--out", str(site.folder / "replay-csv"), code=2)
        yield run("send", *ACCEPTING, str(table), *mapping, "--config", config, code=0 if nth == 1 else 2)


def answers(worker: Worker) -> Iterator[tuple[str, bytes]]:
    """Yield what the worker answers over HTTP."""
    for path in PATHS:
        yield f"HTTP {path}", worker.get(path)[1]


async def test_raw_values_are_found_nowhere(tmp_path: Path, seed: int) -> None:
    """Raw values are only in the input topic, though sent on every path, at log level debug, through crashes."""
    aviary = Aviary(seed)
    places: dict[str, bytes] = {}
    more = dict(MORE)
    with LocalBroker.start(tmp_path / "kafka") as first, Fleet(_site(first, tmp_path, more)) as fleet:
        site, topics = fleet.site, Topics(fleet.site)
        worker = fleet.start("a")
        await worker.until_ready()
        sent = list(records(aviary))
        await topics.send(sent[: len(sent) // 2])
        worker.kill()
        more["log_format"] = "json"  # its second life writes the other form
        worker = fleet.start("a")
        await topics.send(sent[len(sent) // 2 :])
        await topics.until_decided(fleet)
        # A broker that vanishes in the middle of work makes the worker speak of errors.
        await topics.send(Sent(b"number-0", observation("number-0", 200 + nth, nth)) for nth in range(1_000))
        os.kill(first.pid, signal.SIGKILL)
        assert first.state.process.wait(PATIENCE_SECONDS)
        await asyncio.sleep(2)
        with LocalBroker.start(tmp_path / "kafka"):
            await topics.until_decided(fleet)
            places |= dict(answers(worker))
            inputs = site.folder / "inputs.jsonl"
            inputs.write_bytes(b"".join((record.value or b"null") + b"\n" for record in await topics.read("events")))
            places |= dict(commands(site, aviary, inputs))
            await topics.until_decided(fleet)
            fleet.stop()
            await judge(site, replay=False)
            for meaning in ("releases", "ledger", "rejects", "changelog"):
                seen = await topics.read(meaning, "read_uncommitted")
                assert seen
                places[f"topic {meaning}"] = b"\n".join(
                    repr(record).encode() + (record.value or b"") for record in seen
                )
            places["offset metadata"] = repr(await topics.committed()).encode()
            public = b"\n".join(repr(record).encode() + record.value for record in await topics.read("events"))
    site_files = files(site.folder, without=("inputs.jsonl", ".csv"))
    places |= {f"site: {name}": content for name, content in site_files.items()}
    places |= rows(site.state("a"))
    # Indexes hold offsets and times; they are ten sparse megabytes each.
    disk = files(tmp_path / "kafka", without=(f"{site.topics['events']}-", "index"))
    places |= {f"broker: {name}": content for name, content in disk.items()}

    lines = [orjson.loads(line) for line in worker.said().splitlines()]
    assert {"aiokafka", "stream_app"} <= {line["logger"].partition(".")[0] for line in lines}
    assert any(name.endswith("worker-a.log") for name in site_files)
    assert any(name.startswith("state-a") for name in site_files)
    assert any("__consumer_offsets" in name for name in disk)
    assert b"landmark_events_total" in places["HTTP /metrics"]
    assert Search(aviary.canaries).found(places) == []
    _control(aviary, public, tmp_path / "planted")


def _control(aviary: Aviary, public: bytes, folder: Path) -> None:
    """The search finds every canary where it must be, and each form of each in a planted leak."""
    search = Search(aviary.canaries)
    sent = {canary.path for canary in aviary.canaries if not canary.path.startswith("csv")}
    assert len(aviary.canaries) > 100
    assert sent <= search.within(public)
    folder.mkdir()
    for nth, canary in enumerate(aviary.canaries):
        # Each form at another place within a word of eight bytes.
        leak = b"".join(b"%b|%b|" % (form, b"." * (number % 8)) for number, form in enumerate(canary.forms))
        (folder / str(nth)).write_bytes(leak)
        for number, form in enumerate(canary.forms):
            assert canary.path in search.within(b"." * (number % 8) + form + b"..")
    leaks = set(search.found(files(folder)))
    assert {f"{canary.path} in {nth}" for nth, canary in enumerate(aviary.canaries)} <= leaks


def _site(broker: LocalBroker, folder: Path, more: dict[str, object]) -> Site:
    return Site(broker.bootstrap_servers, folder / "site", "canary", 2, POLICIES, more).prepare()


def test_messages_of_errors_stay_inside() -> None:
    """Only the kind and place of an error are given if the error may hold a raw value."""
    aviary = Aviary(1)
    with pytest.raises(ValueError, match="canary") as caught:
        float(aviary.text("conversion"))
    search = Search(aviary.canaries)
    assert search.within(str(caught.value).encode()) == {"conversion"}
    said = loggable(caught.value)
    assert search.within(said.encode()) == set()
    assert said.startswith("ValueError at test_canary.py")
