"""An installation fed by the examples and processed by a worker, with records that consumers must not see."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaProducer

from stream_app.kafka.client.brokers import PartitionProducer
from stream_app.kafka.client.routing import router
from stream_app.localbroker.machine import fetch_jars
from tests.deploy import ROOT
from tests.kafka.installation import HOUR_MS, START_MS, Installation
from tests.run import UNIFORM, VECTOR

EXAMPLES = ROOT / "examples"
PARTITIONS = 3
QUICK_START = "-XX:TieredStopAtLevel=1"
"""For Java programs that run for a second: they end before the best compiler pays off."""
HOURS = 6
STRAYS = 12
LANDMARK = {"level": "landmark", "landmarks": [START_MS + 3 * HOUR_MS], "step": HOUR_MS}
NUMBER = {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.001}
BOUNDS = {"south": 48.0, "west": 2.0, "north": 49.0, "east": 3.0}
KINDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "home": ({"name": "adaptive"}, NUMBER),
    # Its only step with an event is a landmark, which Skip gives nothing: withheld.
    "hush": ({"name": "skip", "accept_risk": True}, NUMBER),
    "cell": (UNIFORM, {"kind": "counts", "keys": ["walk", "ride"]}),
    "bus": (UNIFORM, {"kind": "location", "radius": 200, "resolution": 50, "bounds": BOUNDS}),
    "phone": (UNIFORM, {"kind": "category", "categories": ["contact", "none"]}),
    "lamp": (UNIFORM, {"kind": "category", "categories": [True, False]}),
    "wrist": (UNIFORM, VECTOR),
}
"""The scheme and value of each policy, by the prefix of its series ids."""
POLICIES: tuple[dict[str, Any], ...] = tuple(
    {"series": f"{kind}-*", "epsilon": 1.0, "protection": LANDMARK, "scheme": scheme, "value": value}
    for kind, (scheme, value) in KINDS.items()
)
VALUES: dict[str, Any] = {
    "home": 1.011,
    "cell": {"walk": 12, "ride": 3},
    "bus": {"latitude": 48.85, "longitude": 2.35},
    "phone": "contact",
    "lamp": True,
    "wrist": {"pulse": 71, "oxygen": 0.97},
}


@dataclass(frozen=True)
class Published:
    """The results: ``releases`` are the lines of ``read releases``, ``aborted`` those never committed."""

    installation: Installation
    releases: tuple[bytes, ...]
    aborted: tuple[bytes, ...]

    @property
    def place(self) -> tuple[str, str]:
        """Return the arguments of every consumer: the address and the topic."""
        return self.installation.broker.bootstrap_servers, self.installation.names.releases


def observations(name: str, hours: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Yield the observations of one producer: a series of each kind, with ids that are not all ASCII."""
    for hour in hours:
        for kind, value in VALUES.items():
            yield {"series": f"{kind}-{name} é", "timestamp": START_MS + hour * HOUR_MS, "value": value}
        if hour == 3:
            yield {"series": f"hush-{name}", "timestamp": START_MS + hour * HOUR_MS, "value": 5}


def classpath() -> str:
    """Return the jars that the Java examples need."""
    return f"{fetch_jars()}/*"


def compiled(folder: Path) -> Path:
    """Compile the Java examples, with every warning an error; return the folder of the classes."""
    sources = sorted(map(str, (EXAMPLES / "java").glob("*.java")))
    subprocess.run(["javac", "-Xlint:all", "-Werror", "-cp", classpath(), "-d", str(folder), *sources], check=True)
    return folder


def produced(command: list[str], installation: Installation, sent: Iterable[dict[str, Any]], *separator: str) -> None:
    """Have an example producer send observations."""
    lines = "".join(f"{json.dumps(each)}\n" for each in sent)
    place = [installation.broker.bootstrap_servers, installation.names.events]
    subprocess.run([*command, *place, *separator], input=lines, text=True, check=True)


def strays(installation: Installation, folder: Path) -> int:
    """Send the records of a producer that ignores all advice; return their number."""
    script = (EXAMPLES / "kcat" / "produce.sh").read_text()
    careless = script.replace("-X partitioner=murmur2_random", "")
    assert careless != script
    (folder / "careless.sh").write_text(careless)
    many = [{"series": f"home-stray{number}", "timestamp": START_MS, "value": 1} for number in range(STRAYS)]
    produced(["bash", str(folder / "careless.sh")], installation, many)

    async def write() -> None:
        """Write it."""
        async with AIOKafkaProducer(bootstrap_servers=installation.broker.bootstrap_servers) as producer:
            for name in ("unkeyed", "framed", "headed"):
                key = None if name == "unkeyed" else f"home-{name}".encode()
                value = json.dumps({"series": f"home-{name}", "timestamp": START_MS, "value": 1}).encode()
                frame = b"\0\0\0\0\1" if name == "framed" else b""
                headers = [("__value_schema_id", b"\0\0\0\1")] if name == "headed" else []
                await producer.send_and_wait(installation.names.events, frame + value, key=key, headers=headers)

    asyncio.run(write())
    return len(many) + 3


def producers(classes: Path) -> dict[str, list[str]]:
    """Return the commands of the producers, by a name for their series."""
    return {
        "python": [sys.executable, str(EXAMPLES / "python" / "produce.py")],
        "kcat": ["bash", str(EXAMPLES / "kcat" / "produce.sh")],
        "java": ["java", QUICK_START, "-cp", f"{classes}:{classpath()}", "ProduceObservations"],
    }


def read(installation: Installation) -> tuple[bytes, ...]:
    """Return the lines of ``landmark-stream read releases``."""
    command = [sys.executable, "-m", "stream_app", "read", "releases", "--config", installation.config()]
    return tuple(subprocess.run(command, capture_output=True, check=True).stdout.splitlines())


def aborted(installation: Installation, releases: Iterable[bytes]) -> tuple[bytes, ...]:
    """Write releases like a worker that dies before its commit, while no worker runs; return them."""

    async def write() -> None:
        """Write each in a transaction of the owner of its partition."""
        partition_of = router(installation.partitions)
        for release in found:
            key = json.loads(release)["series"].encode()
            producer = await PartitionProducer.open(installation.settings(), partition_of(key))
            pages = producer.pages()
            pages.append(key, release, START_MS, [])
            await producer.begin()
            await producer.send(installation.names.releases, pages)
            await producer.abort()
            await producer.stop()

    found = tuple(releases)
    asyncio.run(write())
    return found


def committed(installation: Installation, releases: Iterable[bytes]) -> None:
    """Write releases in a transaction of another producer."""

    async def write() -> None:
        """Write them."""
        partition_of = router(installation.partitions)
        async with (
            AIOKafkaProducer(
                bootstrap_servers=installation.broker.bootstrap_servers, transactional_id=f"{installation.name}-other"
            ) as producer,
            producer.transaction(),
        ):
            for release in releases:
                key = json.loads(release)["series"].encode()
                await producer.send_and_wait(installation.names.releases, release, key=key, partition=partition_of(key))

    asyncio.run(write())


def of_the_same_steps(installation: Installation) -> Iterator[bytes]:
    """Yield a second release of one step per partition, as left by a worker that died before its commit."""
    last = {record.partition: json.loads(record.value) for record in installation.read(installation.names.releases)}
    assert len(last) == PARTITIONS
    for release in last.values():
        place = {name: release[name] for name in ("series", "timestamp", "policy")}
        value = release.get("value", 0.5)
        wrong = {**place, "value": value, "decision": "approximated", "source": START_MS - HOUR_MS}
        yield json.dumps(wrong).encode()


def of_a_later_version() -> Iterator[bytes]:
    """Yield releases with what today's do not have: a new member, a new decision, a new kind of value."""
    place = {"series": "home-python é", "policy": 1}
    forms: tuple[dict[str, Any], ...] = (
        {"decision": "withheld", "reason": "closed for repair"},
        {"decision": "postponed", "until": START_MS},
        {"decision": "approximated", "value": [1, 2], "source": START_MS},
    )
    for hour, more in enumerate(forms, 1_000):
        yield json.dumps({**place, "timestamp": START_MS + hour * HOUR_MS, **more}).encode()
