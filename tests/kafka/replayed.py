"""What `replay` computes from an installation's input, compared with what its topics hold."""

import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from stream_app.cli import main
from tests.kafka.installation import Installation
from tests.run import ACCEPTING

Chains = dict[str, list[bytes]]


def replay(installation: Installation) -> Path:
    """Decide all input in the topic without Kafka; return the folder of the outputs."""
    folder, names = installation.folder, installation.names
    (folder / "events.jsonl").write_bytes(b"".join(record.value + b"\n" for record in installation.read(names.events)))
    policies, members = installation.ruled()
    (settings := folder / "replay.toml").write_text("\n".join(members))
    command = [
        "replay",
        *ACCEPTING,
        str(folder / "events.jsonl"),
        "--out",
        str(folder / "replay"),
        "--key",
        str(folder / "key"),
    ]
    # Partitions come one after the other: an input that has grown does not begin with what it was before.
    assert main([*command, "--policies", str(policies), "--config", str(settings), "--replace"]) == 0
    return folder / "replay"


def assert_topics_hold_what_replay_computes(installation: Installation) -> None:
    """Assert that releases and ledger have the same bytes per series; rejects name the same records."""
    folder, names = replay(installation), installation.names
    for topic, file in ((names.releases, "releases"), (names.ledger, "ledger")):
        replayed = _by_series((folder / f"{file}.jsonl").read_bytes().splitlines())
        assert _by_series(record.value for record in installation.read(topic)) == replayed
    rejected = (folder / "rejects.jsonl").read_bytes().splitlines()
    assert _reasons(record.value for record in installation.read(names.rejects)) == _reasons(rejected)


def _by_series(lines: Iterable[bytes]) -> Chains:
    found: Chains = defaultdict(list)
    for line in lines:
        found[json.loads(line)["series"]].append(line)
    return found


def _reasons(lines: Iterable[bytes]) -> dict[str, list[tuple[object, object]]]:
    found: dict[str, list[tuple[object, object]]] = defaultdict(list)
    for line in lines:
        reject = json.loads(line)
        found[str(reject["series"])].append((reject["timestamp"], reject["reason"]))
    return found
