"""Releases as rows for a frame of any library. Needs aiokafka.

Each release is one row, and series and timestamp together are unique. Columns that do not apply to a row are omitted:

    series, timestamp        timestamp in UTC, to the millisecond
    decision                 perturbed, approximated or withheld; others are newer than this file and have no value
    policy                   number of the policy version
    number                   estimate, for a series of numbers
    counts_KEY               estimates, for a series of counts: one column per key
    latitude, longitude      estimate, for a series of locations, in degrees
    part_NAME                estimates, for a series of vectors: one column per part
    category                 estimate, for a series of categories ("true" and "false" for booleans)
    measured_...             the same for the measurement: perturbed rows only
    scale, epsilon           scale of the noise and its epsilon: perturbed rows only
    scale_NAME               scale of the noise by part, instead of scale
    statistic, items         statistic of many numbers, and how many if that is public: perturbed rows
    source                   step that the estimate comes from: approximated rows only
"""

from typing import Any

from aiokafka import AIOKafkaConsumer

from release import Approximated, Location, Perturbed, Release, Unknown, Value, Vector, Withheld, parse

KEYS = ["series", "timestamp"]


async def read(bootstrap: str = "127.0.0.1:9092", topic: str = "landmark.releases") -> list[Release]:
    """Return all committed releases up to the topic's current end."""
    found = []
    async with AIOKafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    ) as consumer:
        partitions = consumer.assignment()  # without a group: all
        ends = await consumer.end_offsets(partitions)
        while [partition for partition in partitions if await consumer.position(partition) < ends[partition]]:
            for records in (await consumer.getmany(timeout_ms=200)).values():
                found += [parse(record.value) for record in records]
    return found


def row(release: Release) -> dict[str, Any]:
    """Return a release as columns."""
    place = {"series": release.series, "timestamp": release.timestamp}
    match release:
        case Perturbed(policy=policy, value=value, measurement=measurement, scale=scale, epsilon_nano=epsilon_nano):
            count = release.count
            items = {f"items_{name}": of for name, of in count.items()} if isinstance(count, dict) else {"items": count}
            gathered = {"statistic": release.statistic, **items}
            values = columns(value) | columns(measurement, "measured_")
            scales = scale.parts if isinstance(scale, Vector) else {"": scale}
            noise = {f"scale_{name}" if name else "scale": of for name, of in scales.items()}
            return (
                place
                | {"decision": "perturbed", "policy": policy}
                | values
                | noise
                | {
                    "epsilon": epsilon_nano / 1e9,
                    **{name: part for name, part in gathered.items() if part is not None},
                }
            )
        case Approximated(policy=policy, value=value, source=source):
            return place | {"decision": "approximated", "policy": policy} | columns(value) | {"source": source}
        case Withheld(policy=policy):
            return place | {"decision": "withheld", "policy": policy}
        case Unknown(decision=decision):
            return place | {"decision": decision}


def columns(value: Value, prefix: str = "") -> dict[str, Any]:
    """Return the columns of a value, according to its kind."""
    match value:
        case bool():
            return {f"{prefix}category": str(value).lower()}
        case str():
            return {f"{prefix}category": value}
        case float():
            return {f"{prefix}number": value}
        case Location(latitude=latitude, longitude=longitude):
            return {f"{prefix}latitude": latitude, f"{prefix}longitude": longitude}
        case Vector(parts=parts):
            return {f"{prefix}part_{name}": number for name, number in parts.items()}
        case dict():
            return {f"{prefix}counts_{key}": items for key, items in value.items()}
