"""Frauds against the releases: missing, changed, or inconsistent with their entries."""

from collections.abc import Iterator
from math import inf, nextafter
from typing import Any

from tests.audit.frauds.forged import Forged, forged, frauds_in
from tests.audit.written import Written, cover, seal


def release_changed(true: Written) -> Iterator[Forged]:
    """A release's bytes are not those that its entry covers."""
    for index in range(len(true.releases)):
        written = true.copy()
        release = written.releases[index]
        release["policy"] += 1
        yield forged(written, "changed-release")
        yield Forged(true.lines(), [line[:-1] for line in written.release_lines()], {"malformed-release"})


def release_missing(true: Written) -> Iterator[Forged]:
    """A release is missing, or there is one too many."""
    for index in range(len(true.releases)):
        written = true.copy()
        del written.releases[index]
        yield forged(written, "entry-without-release")
        extra = dict(true.releases[index], timestamp=true.releases[index]["timestamp"] + 1)
        if extra["timestamp"] not in {release["timestamp"] for release in true.releases}:
            written = true.copy()
            written.releases.insert(index + 1, extra)
            yield forged(written, "release-without-entry")
        written = true.copy()
        written.releases.insert(index + 1, dict(true.releases[index], series="stranger"))
        yield forged(written, "release-without-entry")
        written.releases[index + 1] = dict(true.releases[index], policy=77)
        yield forged(written, "conflicting-duplicate")


def release_contradicts(true: Written) -> Iterator[Forged]:
    """A release that its entry covers says something else: another spend, source, policy or value."""
    for index, release in enumerate(true.releases):
        for member in ("epsilon_nano", "source", "policy", "measurement", "value"):
            if member not in release or (member == "value" and release["decision"] == "perturbed"):
                continue
            written = true.copy()
            changed = written.releases[index]
            if member not in ("measurement", "value"):
                changed[member] += 1
                yield forged(seal(cover(written)), "release-mismatch")
                continue
            changed[member] = "walk"
            # A release that names its statistic mostly names the form of its numbers, too: a text is none of that form.
            form = ("malformed-release",) if "statistic" in release else ()
            yield forged(seal(cover(written)), "release-mismatch", *form)


def scale_lowered(true: Written) -> Iterator[Forged]:
    """The noise is less than the spend allows, or is claimed to be more; entry and chain cover the release."""
    for index, release in enumerate(true.releases):
        for change in (0.5, 1 - 2**-52, 1 + 2**-52, 2.0):
            for other in scales(release["scale"], change) if "scale" in release else ():
                written = true.copy()
                written.releases[index]["scale"] = other
                yield forged(seal(cover(written)), "release-mismatch")


def scales(scale: Any, change: float) -> Iterator[Any]:
    """Yield a scale, or each of several scales in turn, multiplied."""
    if isinstance(scale, dict):
        yield from (scale | {name: other} for name, part in scale.items() for other in scales(part, change))
    elif scale * change != scale:
        yield scale * change


def spelt_otherwise(true: Written) -> Iterator[Forged]:
    """The published value is equal in Python but another text in JSON, which leaks a bit for free."""
    for index, release in enumerate(true.releases):
        for member in ("value", "measurement"):
            if "measurement" in release:
                for other in other_spellings(release[member]):
                    written = true.copy()
                    written.releases[index][member] = other
                    yield forged(seal(cover(written)), "release-mismatch", "malformed-release")
        if type(release.get("scale")) is float and release["scale"].is_integer():
            written = true.copy()
            written.releases[index]["scale"] = int(release["scale"])
            yield forged(seal(cover(written)), "malformed-release")


def estimate_moved(true: Written) -> Iterator[Forged]:
    """A value or measurement is not on the policy's grid, or an unfiltered value is not its measurement's."""
    filtered = {
        entry["policy"]: entry["parameters"].get("filter", "none") != "none"
        or ("filter" not in entry["parameters"] and entry["parameters"]["scheme"]["name"] == "balanced")
        for entry in true.entries
        if entry["entry"] == "policy"
    }
    for index, release in enumerate(true.releases):
        if "measurement" not in release:
            continue
        estimates = off_the_grid(release["value"]) if filtered[release["policy"]] else any_other(release["value"])
        for member, others in (("measurement", off_the_grid(release["measurement"])), ("value", estimates)):
            for other in (other for other in others if other != release[member]):
                written = true.copy()
                written.releases[index][member] = other
                yield forged(seal(cover(written)), "release-mismatch", "malformed-release")


def off_the_grid(published: Any) -> Iterator[Any]:
    """Yield values slightly different from the published one: the last bits could reveal the raw value."""
    match published:
        case bool():
            yield "no such category"
        case float():
            yield from (nextafter(published, inf), published + 0.0004, 1e308)
        case dict():
            for name, part in published.items():
                if type(part) is float:
                    yield from (published | {name: other} for other in (nextafter(part, inf), part + 3e-7))
        case _:
            yield "no such category"


def any_other(published: Any) -> Iterator[Any]:
    """Yield values that an unfiltered estimate may not have, including values on the grid."""
    yield from off_the_grid(published)
    match published:
        case bool():
            yield not published
        case float():
            yield from (published - 0.25, 11.0, -1.0)
        case dict():
            for name, part in published.items():
                yield published | {name: part + 1}
        case _:
            pass


def other_spellings(published: Any) -> Iterator[Any]:
    """Yield texts of other types, or in another order, for the published value."""
    match published:
        case bool():
            yield from (int(published), float(published))
        case float():
            yield int(published)
        case dict():
            if len(published) > 1:
                yield dict(reversed(published.items()))
            for otherwise in (int, float):
                spelt = {name: otherwise(part) for name, part in published.items()}
                if repr(spelt) != repr(published):
                    yield spelt
        case _:
            pass


FRAUDS = frauds_in(__name__)
