"""Each example consumer prints what ``read releases`` does: everything committed, and nothing else."""

import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.examples.published import EXAMPLES, HOURS, QUICK_START, VALUES, Published, classpath

SECONDS = 300
COMMITTED, UNCOMMITTED = "read_committed", "read_uncommitted"


def time_of(milliseconds: int) -> datetime:
    """Return a time in UTC."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def first_lines(command: list[str], count: int, folder: Path) -> list[str]:
    """Return the first lines of a program that runs forever; end it as a user does."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) as process:
        guard = threading.Timer(SECONDS, process.kill)
        guard.start()
        assert process.stdout is not None
        lines = [line.rstrip("\n") for _, line in zip(range(count), process.stdout, strict=False)]
        process.terminate()
        lines += [line.rstrip("\n") for line in process.stdout]
        guard.cancel()
    return lines


def python_line(record: bytes) -> str:
    """Return the line of the Python consumer for a release."""
    release = json.loads(record)
    start = f"{release['series']}\t{time_of(release['timestamp']).isoformat()}\t"
    value = release.get("value")
    if isinstance(value, dict) and "latitude" in value:
        value = f"Location(latitude={value['latitude']!r}, longitude={value['longitude']!r})"
    if of_parts(value):
        value = f"Vector(parts={value!r})"
    match release["decision"]:
        case "perturbed":
            scale = release["scale"]
            noise = f"Vector(parts={scale!r})" if of_parts(scale) else f"{scale:.6g}"
            return f"{start}perturbed\t{value}\tscale {noise}"
        case "approximated" if not isinstance(value, list):
            return f"{start}approximated\t{value}\tfrom {time_of(release['source']).isoformat()}"
        case "withheld":
            return f"{start}withheld"
        case decision:
            return f"{start}unknown\t{decision}"


def of_parts(value: Any) -> bool:
    """Return whether a value consists of named numbers that are not counts."""
    return isinstance(value, dict) and any(isinstance(number, float) for number in value.values())


def java_value(value: Any) -> str:
    """Return a value as the records of the Java consumer print it."""
    match value:
        case bool() | str():
            return f"CategoryValue[category={str(value).lower()}]"
        case {"latitude": latitude, "longitude": longitude}:
            return f"LocationValue[latitude={latitude!r}, longitude={longitude!r}]"
        case dict() if of_parts(value):
            return f"VectorValue[parts={{{', '.join(f'{name}={number!r}' for name, number in value.items())}}}]"
        case dict():
            return f"CountsValue[counts={{{', '.join(f'{key}={items}' for key, items in value.items())}}}]"
        case _:
            return f"NumberValue[number={float(value)!r}]"


def java_line(record: bytes) -> str:
    """Return the line of the Java consumer for a release."""
    release = json.loads(record)

    def instant(milliseconds: int) -> str:
        return time_of(milliseconds).isoformat().replace("+00:00", "Z")

    start = f"series={release['series']}, timestamp={instant(release['timestamp'])}"
    known = f"{start}, policy={release['policy']}"
    value = release.get("value")
    match release["decision"]:
        case "perturbed":
            noise = f"scale={java_value(release['scale'])}, epsilonNano={release['epsilon_nano']}"
            measurement = java_value(release["measurement"])
            return f"Perturbed[{known}, value={java_value(value)}, measurement={measurement}, {noise}]"
        case "approximated" if not isinstance(value, list):
            return f"Approximated[{known}, value={java_value(value)}, source={instant(release['source'])}]"
        case "withheld":
            return f"Withheld[{known}]"
        case decision:
            return f"Unknown[{start}, decision={decision}]"


def same_numbers(line: str) -> str:
    """Spell a Java line's numbers as Python does: Java 17 writes some doubles with other, equally exact digits."""
    return re.sub(r"(?<==)-?\d[\d.]*(?:E-?\d+)?(?=[,\]}])", lambda found: repr(float(found[0])), line)


def python(published: Published, isolation: str, count: int, folder: Path) -> list[str]:
    """Run the Python consumer in a group of its own; it follows the topic."""
    for file in (EXAMPLES / "python").glob("*.py"):
        (folder / file.name).write_text(file.read_text().replace(COMMITTED, isolation))
    return first_lines([sys.executable, "consume.py", *published.place, f"python-{isolation}"], count, folder)


def java(published: Published, isolation: str, count: int, folder: Path) -> list[str]:
    """Run the Java consumer from source, as its comment says, in a group of its own; it follows the topic."""
    source = EXAMPLES / "java" / "ConsumeReleases.java"
    (folder / source.name).write_text(source.read_text().replace(COMMITTED, isolation))
    command = ["java", QUICK_START, "-cp", classpath(), source.name, *published.place, f"java-{isolation}"]
    return [same_numbers(line) for line in first_lines(command, count, folder)]


def kcat(published: Published, isolation: str, count: int, folder: Path) -> list[str]:
    """Run the kcat consumer, which ends at the end of the topic."""
    script = EXAMPLES / "kcat" / "consume.sh"
    (folder / script.name).write_text(script.read_text().replace(COMMITTED, isolation))
    done = subprocess.run(["bash", script.name, *published.place], cwd=folder, capture_output=True, check=True)
    lines = done.stdout.decode().splitlines()
    assert len(lines) == count
    return lines


CONSUMERS: dict[str, tuple[Callable[[Published, str, int, Path], list[str]], Callable[[bytes], str]]] = {
    "python": (python, python_line),
    "java": (java, lambda record: same_numbers(java_line(record))),
    "kcat": (kcat, bytes.decode),
}
"""The command of each consumer, and the line that it prints for a release."""


def by_series(lines: list[str]) -> dict[str, list[str]]:
    """Return the lines grouped by the series that they name, in their order."""
    found: dict[str, list[str]] = {}
    for line in lines:
        name = re.search(r"(?:home|hush|cell|bus|phone|lamp|wrist)-(?:\w+)(?: é)?", line)
        assert name is not None, line
        found.setdefault(name[0], []).append(line)
    return found


def test_there_is_something_to_see(published: Published) -> None:
    """The topic holds every decision, every kind of value, and records that nobody may see."""
    releases = [json.loads(line) for line in published.releases]
    assert {release["decision"] for release in releases} == {"perturbed", "approximated", "withheld", "postponed"}
    assert {release["series"].partition("-")[0] for release in releases} == {*VALUES, "hush"}
    ours = [release for release in releases if re.search("-(python|kcat|java)", release["series"])]
    assert len(ours) == 3 * (2 * HOURS * len(VALUES) + 1) + 3
    assert len(published.aborted) == 3


@pytest.mark.parametrize("name", CONSUMERS)
def test_a_consumer_sees_what_was_committed(published: Published, name: str, tmp_path: Path) -> None:
    """A consumer sees each record once, with each series' releases in order."""
    consumer, line_of = CONSUMERS[name]
    seen = consumer(published, COMMITTED, len(published.releases), tmp_path)
    assert by_series(seen) == by_series([line_of(release) for release in published.releases])


@pytest.mark.parametrize("name", CONSUMERS)
def test_the_isolation_level_is_what_hides_the_rest(published: Published, name: str, tmp_path: Path) -> None:
    """At the other isolation level, the same consumer shows the aborted releases too."""
    consumer, line_of = CONSUMERS[name]
    releases = [*published.releases, *published.aborted]
    seen = consumer(published, UNCOMMITTED, len(releases), tmp_path)
    assert sorted(seen) == sorted(map(line_of, releases))
