"""Frauds against the arithmetic of a period, most of them with a rewritten chain to match."""

from collections.abc import Iterator

from tests.audit.frauds.forged import FIGURES, Forged, forged, frauds_in, registered
from tests.audit.written import SECOND, Written, cover, hash_of, releases_in, seal


def figure_changed(true: Written) -> Iterator[Forged]:
    """A figure is changed by one: in its bytes only, with its own hash, or with the whole chain."""
    for index, entry in enumerate(true.entries):
        for figure, code in FIGURES.items():
            for change in (-1, 1):
                if figure not in entry:
                    continue
                written = true.copy()
                written.entries[index][figure] += change
                yield forged(written, "bad-hash")
                written.entries[index]["hash"] = hash_of(written.entries[index])
                yield forged(written, "broken-chain", code)
                yield forged(seal(written), code)


def landmark_flag(true: Written) -> Iterator[Forged]:
    """A landmark is called a regular step, or the other way round."""
    for index, _ in releases_in(true):
        written = true.copy()
        written.entries[index]["landmark"] ^= True
        yield forged(seal(written), "landmark-flag")


def spend_changed(true: Written) -> Iterator[Forged]:
    """A release spends one more or one less than its share, with matching figures and release."""
    for index, entry in releases_in(true):
        for change in (-1, 1):
            if entry.get("epsilon_nano", 0) + min(change, 0) < 1:
                continue
            written = true.copy()
            changed = written.entries[index]
            changed["epsilon_nano"] += change
            changed["landmark_spent_nano" if changed["landmark"] else "regular_peak_nano"] += change
            release = next(one for one in written.releases if one["timestamp"] == changed["timestamp"])
            release |= {"epsilon_nano": changed["epsilon_nano"], "scale": 10**10 / changed["epsilon_nano"]}
            yield forged(seal(cover(written)), "share")


def overspent(true: Written) -> Iterator[Forged]:
    """All spends of a period up to a release grow, with all figures, until a single one exceeds the budget."""
    grows = {"release": ("epsilon_nano", "landmark_spent_nano", "regular_peak_nano"), "dummies": ("charged_nano",)}
    for index, last in releases_in(true):
        written = true.copy()
        period = [entry for entry in written.entries[: index + 1] if entry["policy"] == last["policy"]]
        largest = max(entry.get("epsilon_nano", 0) for entry in period)
        if largest:
            for entry in period:
                for figure in grows.get(entry["entry"], ()):
                    if figure in entry:
                        entry[figure] *= last["budget_nano"] // largest + 1
            yield forged(seal(written), "theorem")


def budget_raised(true: Written) -> Iterator[Forged]:
    """The budget is raised afterwards in the figures or in the promise; test_head_frauds.py raises both."""
    written = true.copy()
    for entry in written.entries:
        if "budget_nano" in entry:
            entry["budget_nano"] += 10
    yield forged(seal(written), "budget")
    for index, entry in enumerate(true.entries):
        if entry["entry"] == "policy":
            written = true.copy()
            written.entries[index]["parameters"]["epsilon"] += 1e-8
            yield forged(seal(written), "budget")


def charge_changed(true: Written) -> Iterator[Forged]:
    """A registration of decided steps is free, or a policy charges something."""
    for index, entry in enumerate(true.entries):
        if "charged_nano" in entry:
            written = true.copy()
            written.entries[index]["charged_nano"] += -entry["charged_nano"] or 1
            yield forged(seal(written), "charge")


def registered_too_late(true: Written) -> Iterator[Forged]:
    """Decided steps become landmarks whose charge no longer fits, of another period, or at a level without any."""
    for index, entry in releases_in(true):
        peak, spent = entry["regular_peak_nano"], entry["landmark_spent_nano"]
        if not peak or spent + 4 * peak <= entry["budget_nano"]:
            continue
        if entry["landmark"]:  # its neighbours may be landmarks too: registering those again is free, and right
            continue
        start = entry["timestamp"] // (2 * SECOND) * 2 * SECOND
        add = [[max(0, start - 6 * SECOND), start + 2 * SECOND]]
        yield forged(registered(true, index, add), "refused-landmark", "charge")


def misaligned(true: Written) -> Iterator[Forged]:
    """A time is not the start of a step."""
    step = 0
    for index, entry in enumerate(true.entries):
        step = entry["parameters"]["protection"]["step"] if entry["entry"] == "policy" else step
        if step == 1:  # every time is the start of one
            continue
        written = true.copy()
        changed = written.entries[index]
        if entry["entry"] == "release":
            changed["timestamp"] += 1
        elif entry["entry"] == "landmarks":
            changed["add"][0][1] += 1
        else:
            continue
        yield forged(seal(written), "step-alignment")


def decision_turned(true: Written) -> Iterator[Forged]:
    """A release is said to have cost nothing, or one that cost nothing gets another reason."""
    source = None
    for index, entry in releases_in(true):
        written = true.copy()
        changed = written.entries[index]
        turned = {"perturbed": "withheld" if source is None else "approximated", "withheld": "approximated"}
        changed["decision"] = turned.get(entry["decision"], "withheld")
        changed.pop("epsilon_nano", None)
        codes = {"decision", *FIGURES.values(), "release-mismatch"}
        yield forged(seal(written), *codes)
        source = entry["timestamp"] if entry["decision"] == "perturbed" else source


FRAUDS = frauds_in(__name__)
