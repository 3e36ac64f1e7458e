"""Frauds against windows: they lose too much, charges are hidden, or versions do not wait."""

from collections.abc import Iterator
from typing import Any

from tests.audit.frauds.forged import Forged, forged, frauds_in
from tests.audit.written import Written, cover, releases_in, renumber, seal


def window_overspent(true: Written) -> Iterator[Forged]:
    """A release spends a window's whole limit, although the window has already spent something."""
    for index, entry, protection in _in_windows(true):
        first = entry["timestamp"] - (protection["window"] - 1) * protection["step"]
        before = [one for _, one in releases_in(true) if first <= one["timestamp"] < entry["timestamp"]]
        spent = entry["landmark_spent_nano"] or any("epsilon_nano" in one for one in before if not one["landmark"])
        if "epsilon_nano" not in entry or entry["landmark"] or not spent:
            continue
        written = true.copy()
        changed = written.entries[index]
        changed["epsilon_nano"] = changed["regular_peak_nano"] = entry["budget_nano"]
        release = next(one for one in written.releases if one["timestamp"] == changed["timestamp"])
        release["epsilon_nano"] = changed["epsilon_nano"]
        yield forged(seal(cover(written)), "theorem")


def charges_hidden(true: Written) -> Iterator[Forged]:
    """Private dissimilarities' cost is missing from the figures, or the policy is made to say there were none."""
    for index, entry, protection in _in_windows(true):
        charge = entry["budget_nano"] // (2 * protection["window"])
        if not protection["private"] or entry["regular_peak_nano"] < protection["window"] * charge:
            continue
        written = true.copy()
        for _, later in releases_in(written):
            if later["policy"] == entry["policy"] and later["timestamp"] >= entry["timestamp"]:
                later["regular_peak_nano"] -= protection["window"] * charge
        yield forged(seal(written), "regular-peak")
        written = true.copy()
        policy = next(one for one in written.entries[index::-1] if one["entry"] == "policy")
        policy["parameters"]["scheme"]["dissimilarity"] = "released"
        yield forged(seal(written), "regular-peak", "share")


def waited_too_little(true: Written) -> Iterator[Forged]:
    """A version at level w-event spends in a window with a spend of the previous version."""
    for index, entry in releases_in(true):
        if "epsilon_nano" not in entry:
            continue
        written = true.copy()
        del written.entries[index + 1 :]
        nth = next(nth for nth, one in enumerate(written.releases) if one["timestamp"] == entry["timestamp"])
        del written.releases[nth + 1 :]
        rules = next(one for one in true.entries[index::-1] if one["entry"] == "policy")
        step = rules["parameters"]["protection"]["step"]
        policy = dict(rules, policy=entry["policy"] + 1, epoch=entry["epoch"], budget_nano=30)
        level = {"protection": {"level": "w-event", "window": 3, "step": step}, "scheme": {"name": "uniform"}}
        policy["parameters"] = dict(rules["parameters"], epsilon=3e-8, renew=None, **level)
        figures = {"landmark_spent_nano": 0, "landmarks_left": 0, "regular_peak_nano": 10}
        version = {"policy": policy["policy"], "timestamp": entry["timestamp"] + step, "epsilon_nano": 10}
        early = entry | {"landmark": False, "budget_nano": 30} | version | figures
        release = written.releases[-1] | version
        spend, scale = entry["epsilon_nano"], release["scale"]
        several = isinstance(scale, dict)
        release["scale"] = {name: part * spend / 10 for name, part in scale.items()} if several else scale * spend / 10
        written.entries += [policy, early]
        written.releases.append(release)
        yield forged(renumber(cover(written)), "theorem")


def _in_windows(true: Written) -> Iterator[tuple[int, dict[str, Any], dict[str, Any]]]:
    """Yield the releases of versions with windows, with their indices and their policies' protections."""
    protection: dict[str, Any] = {}
    for index, entry in enumerate(true.entries):
        if entry["entry"] == "policy":
            parameters = entry["parameters"]
            protection = parameters["protection"] | {"private": parameters["scheme"].get("dissimilarity") == "private"}
        elif entry["entry"] == "release" and protection.get("window"):
            yield index, entry, protection


FRAUDS = frauds_in(__name__)
