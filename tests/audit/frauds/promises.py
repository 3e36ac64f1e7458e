"""Frauds against promises, and entries in forms that no ledger has."""

from collections.abc import Iterator

from tests.audit.frauds.forged import Forged, behind, forged, frauds_in, registered
from tests.audit.written import NANO, SECOND, Record, Written, releases_in, renumber, seal


def landmarks_hidden(true: Written) -> Iterator[Forged]:
    """The policy is changed to protect fewer steps, of which the next release still counted one."""
    for index, entry in enumerate(true.entries[:-1]):
        after = next((other for other in true.entries[index + 1 :] if other["entry"] != "dummies"), entry)
        if entry["entry"] != "policy" or after["entry"] != "release":
            continue
        protection = entry["parameters"]["protection"]
        for place, hidden in enumerate(_spans(protection)):
            written = true.copy()
            fewer = written.entries[index]["parameters"]["protection"]
            del fewer["landmarks"][place]
            left = _spans(fewer)
            # An interval may have billions of steps. The first one that is lost begins it, or follows another interval.
            first = max(hidden.start, after["timestamp"] // protection["step"])
            begins = [first, *(span.stop for span in left if span.stop > first)]
            if any(step in hidden and not any(step in span for span in left) for step in begins):
                yield forged(seal(written), "landmark-flag", "landmarks-left")


def _spans(protection: Record) -> list[range]:
    """Return the numbers of a policy's landmarks by their definition, one range per interval."""
    step = protection["step"]
    spans = [span if isinstance(span, list) else [span, span + 1] for span in protection.get("landmarks", ())]
    return [range(start // step, -(-end // step)) for start, end in spans]


def hidden_version(true: Written) -> Iterator[Forged]:
    """A version promises the series' whole lifetime although some is lost, or a version in force is missing."""
    for index, entry in enumerate(true.entries[:-1]):
        if entry["entry"] == "policy" and true.entries[index + 1]["entry"] != "policy":
            written = true.copy()
            del written.entries[index]
            yield forged(renumber(written), "policy-version", "no-policy")
    for index, entry in releases_in(true):
        if not (entry["landmark_spent_nano"] or entry["regular_peak_nano"]):
            continue
        written = true.copy()
        policy = dict(written.entries[0], policy=entry["policy"] + 1, epoch=entry["epoch"])
        policy["budget_nano"] = true.lifetime_nano or policy["budget_nano"]
        epsilon = policy["parameters"]["epsilon"] if true.lifetime_nano is None else true.lifetime_nano / NANO
        uniform = {"protection": {"level": "event", "step": SECOND}, "scheme": {"name": "uniform"}}
        policy["parameters"] = dict(policy["parameters"], epsilon=epsilon, renew=None, **uniform)
        del written.entries[index + 1 :]
        written.entries.append(policy)
        del written.releases[sum(1 for _ in releases_in(written)) :]
        yield forged(renumber(written), "lifetime")


def version_lowered(true: Written) -> Iterator[Forged]:
    """A version does not increase, or entries name a version that is not in force."""
    for index, entry in enumerate(true.entries):
        if index:
            written = true.copy()
            before = true.entries[index - 1]["policy"]
            written.entries[index]["policy"] = before if entry["entry"] == "policy" else entry["policy"] + 1
            yield forged(seal(written), "policy-version")
    written = true.copy()
    written.entries.insert(1, dict(written.entries[0]))
    yield forged(renumber(written), "policy-version")


def version_reaches_back(true: Written) -> Iterator[Forged]:
    """A new version names steps as landmarks that are already decided."""
    for index, entry in releases_in(true):
        written = true.copy()
        del written.entries[index + 1 :]
        protection = {"level": "landmark", "step": SECOND, "landmarks": [entry["timestamp"]]}
        policy = dict(written.entries[0], policy=entry["policy"] + 1, epoch=entry["epoch"])
        policy["parameters"] = dict(policy["parameters"], protection=protection, scheme={"name": "uniform"})
        written.entries.append(policy)
        yield forged(renumber(written), "policy-landmarks")


def landmarks_beside_dummies(true: Written) -> Iterator[Forged]:
    """A step becomes a landmark although dummies hide the landmarks: it would be known to be true."""
    for index, entry in releases_in(true):
        if all(other["entry"] != "dummies" or other["policy"] != entry["policy"] for other in true.entries):
            continue
        step = next(
            other["parameters"]["protection"].get("step", 1)
            for other in reversed(true.entries[:index])
            if other["entry"] == "policy"
        )
        start = entry["timestamp"] if entry["landmark"] else entry["timestamp"] + 9_999 * step
        yield forged(registered(true, index, [[start, start + step]]), "refused-landmark")


def dummies_misplaced(true: Written) -> Iterator[Forged]:
    """Landmarks are said to be drawn after they took effect, a second time, or where there are none."""
    for index, entry in enumerate(true.entries):
        if entry["entry"] in {"release", "dummies"}:
            yield forged(behind(true, index, "dummies", method="padding", charged_nano=0), "dummies")


def after_the_end(true: Written) -> Iterator[Forged]:
    """A closed series goes on."""
    for index in range(len(true.entries) - 1):
        yield forged(behind(true, index, "close"), "after-close")


def unknown_kind(true: Written) -> Iterator[Forged]:
    """An entry has a kind, a member, a type or a spelling that no version of the ledger has."""
    for index, entry in enumerate(true.entries):
        written = true.copy()
        written.entries[index] = entry | {"entry": "grant"}
        yield forged(seal(written), "unknown-entry")
        written.entries[index] = {"extra": 1} | entry
        yield forged(seal(written), "malformed-entry")
        written.entries[index] = entry | {"epoch": float(entry["epoch"])}
        yield forged(seal(written), "malformed-entry")
        lines = true.lines()
        lines[index] = lines[index].replace(b'"sequence":', b'"sequence": ')
        yield Forged(lines, true.release_lines(), {"malformed-entry"})
        lines[index] = lines[index].replace(b'"sequence": ', b'"sequence":7,"sequence":')
        yield Forged(lines, true.release_lines(), {"malformed-entry"})
        lines[index] = lines[index][: len(lines[index]) // 2]
        yield Forged(lines, true.release_lines(), {"malformed-entry"})


def unknown_terms(true: Written) -> Iterator[Forged]:
    """A policy has a member or a value that this audit cannot account for."""
    for part, member, value in (
        (None, "discount", 1),
        ("protection", "level", "week"),
        ("protection", "windows", 9),
        ("protection", "step", 0),
        ("scheme", "name", "generous"),
        ("value", "kind", "letter"),
        ("value", "resolution", 100),
        (None, "epsilon", "1"),
        (None, "epsilon", 1e-10),
        (None, "filter", "strong"),
    ):
        if (member, true.entries[0]["parameters"]["value"]["kind"]) == ("resolution", "location"):
            continue  # a wide grid, no more; for numbers it leaves one point, the others have none
        written = true.copy()
        parameters: Record = written.entries[0]["parameters"]
        (parameters if part is None else parameters[part])[member] = value
        yield forged(seal(written), "unknown-terms")


FRAUDS = frauds_in(__name__)
