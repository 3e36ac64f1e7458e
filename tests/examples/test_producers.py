"""Each example producer sends a series to where the worker expects it; a careless producer does not."""

import json
from pathlib import Path
from typing import Any

from stream_app.kafka.client.routing import router
from stream_app.localbroker.broker import LocalBroker
from tests.examples.published import HOURS, PARTITIONS, STRAYS, VALUES, Published, compiled, produced, producers
from tests.kafka.installation import Installation
from tests.programs import program

RESTS = ("", "/glucose", "/place/x")
"""What follows the person in series ids."""


def test_a_series_lies_where_murmur2_says(published: Published) -> None:
    """Every producer's keys and partitions are right; Java's own partitioner is the reference for the others."""
    partition_of = router(PARTITIONS)
    found: dict[str, set[tuple[bytes, int]]] = {}
    for record in published.installation.read(published.installation.names.events):
        if b"stray" not in record.value and record.key is not None and record.value.startswith(b"{"):
            series = json.loads(record.value)["series"]
            found.setdefault(series, set()).add((record.key, record.partition))
    assert len(found) == 3 * (len(VALUES) + 1) + 1
    for series, places in found.items():
        assert places == {(series.encode(), partition_of(series.encode()))}
    assert {partition for places in found.values() for _, partition in places} == set(range(PARTITIONS))


def test_all_that_they_sent_was_decided(published: Published) -> None:
    """Nothing of theirs was rejected."""
    decided = [json.loads(release) for release in published.releases]
    for name in ("python", "kcat", "java"):
        steps = {(each["series"], each["timestamp"]) for each in decided if each["series"] == f"bus-{name} é"}
        assert len(steps) == 2 * HOURS
    refused = {str(reject["series"]) for reject in rejects(published)}
    assert not [series for series in refused if series.endswith(" é") or series.startswith("hush")]


def rejects(published: Published) -> list[dict[str, Any]]:
    """Return the rejects."""
    names = published.installation.names
    return [json.loads(record.value) for record in published.installation.read(names.rejects)]


def test_another_partitioner_is_refused(published: Published) -> None:
    """The default partitioner of librdkafka sends some series elsewhere, and each of those is `misrouted`."""
    names = published.installation.names
    partition_of = router(PARTITIONS)
    strays = [record for record in published.installation.read(names.events) if b"stray" in record.value]
    elsewhere = {record.key.decode() for record in strays if record.partition != partition_of(record.key)}
    assert len(strays) == STRAYS
    assert 0 < len(elsewhere) < STRAYS
    refused = [reject for reject in rejects(published) if "stray" in str(reject["series"])]
    assert {(reject["series"], reject["reason"]) for reject in refused} == {(each, "misrouted") for each in elsewhere}


def test_framed_and_unkeyed_records_are_refused(published: Published) -> None:
    """A registry serializer's frame before the JSON is `malformed`; a schema id in a header is accepted."""
    found = [reject for reject in rejects(published) if "stray" not in str(reject["series"])]
    assert sorted(reject["reason"] for reject in found) == ["malformed", "misrouted"]
    assert [json.loads(each)["decision"] for each in published.releases if b"home-headed" in each] == ["perturbed"]


def test_members_are_the_key(broker: LocalBroker, tmp_path: Path, worker_id: str) -> None:
    """With a separator, each producer uses the id up to the first separator as key, as a worker requires."""
    for needed in ("kcat", "jq", "javac"):
        program(needed)
    installation = Installation(broker, tmp_path / "run", f"members-{worker_id}", PARTITIONS)
    expected = set()
    for name, command in producers(compiled(tmp_path / "classes")).items():
        sent = [{"series": f"{name} é{rest}", "timestamp": 0, "value": 1} for rest in RESTS]
        produced(command, installation, sent, "/")
        expected |= {(f"{name} é{rest}", f"{name} é".encode()) for rest in RESTS}
    records = installation.read(installation.names.events)
    assert {(json.loads(record.value)["series"], record.key) for record in records} == expected
