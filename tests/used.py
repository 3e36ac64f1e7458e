"""How much of each promise a ledger used, by literal sums over its spends.

This oracle trusts no figure in the ledger.
"""

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import orjson


def literally_used(ledger: Iterable[bytes]) -> dict[tuple[str, int], tuple[int, int]]:
    """Return what each policy version of each series used and promised, in nano-epsilon.

    Only spends, sets of landmarks and charges are read, and `regular_peak_nano` only for whether a version waits.
    """
    found: dict[tuple[str, int], tuple[int, int]] = {}
    ruling: dict[str, _Version] = {}
    for entry in map(orjson.loads, ledger):
        series = entry["series"]
        if entry["entry"] == "policy":
            ruling[series] = _Version(entry["parameters"])
        elif entry["entry"] not in {"release", "landmarks", "dummies"}:
            continue
        version = ruling[series]
        version.take(entry)
        found[series, entry["policy"]] = (version.on_landmarks + version.dearest, version.promised)
    return found


def worst(used: dict[tuple[str, int], tuple[int, int]]) -> tuple[int, int]:
    """Return the largest share used, and among equal shares that of the largest promise."""
    return max(used.values(), key=lambda each: (Fraction(*each), *each))


def truly_lost(ledger: Iterable[bytes]) -> dict[tuple[str, int], int]:
    """Return what each policy version of each series truly lost, by the guarantee's own words, in nano-epsilon.

    This is the largest sum, over all windows, of the spends on the final landmarks and on the window's steps, once all
    is over; a step that was registered late counts at its own spend. A program never reports less as used.
    """
    versions: dict[tuple[str, int], _Version] = {}
    for entry in map(orjson.loads, ledger):
        if entry["entry"] == "policy":
            versions[entry["series"], entry["policy"]] = _Version(entry["parameters"])
        elif entry["entry"] in {"release", "landmarks", "dummies"}:
            versions[entry["series"], entry["policy"]].take(entry)
    return {name: version.lost() for name, version in versions.items()}


class _Version:
    def __init__(self, parameters: dict[str, Any]) -> None:
        protection, scheme = parameters["protection"], parameters["scheme"]
        self.promised = int(Decimal(repr(parameters["epsilon"])) * 10**9)
        self.step, self.user = protection.get("step", 1), protection["level"] == "user"
        self.window = protection.get("window") or 1
        self.charge = self.promised // (2 * self.window) if scheme.get("dissimilarity") == "private" else 0
        self.landmarks = self._steps(protection.get("landmarks", []))
        self.spends: dict[int, int] = {}
        self.looked: set[int] = set()  # steps that a private dissimilarity was measured at
        self.on_landmarks = self.dearest = self.drawn = 0

    def _steps(self, spans: list[Any]) -> list[range]:
        both = [span if isinstance(span, list) else [span, span + 1] for span in spans]
        return [range(start // self.step, -(-end // self.step)) for start, end in both]

    def take(self, entry: dict[str, Any]) -> None:
        if entry["entry"] != "release":
            self.landmarks += self._steps(entry.get("add", []))
            self.on_landmarks += entry["charged_nano"]
            self.drawn += entry["charged_nano"] if entry["entry"] == "dummies" else 0
            return
        step, spend = entry["timestamp"] // self.step, entry.get("epsilon_nano", 0)
        self.spends[step] = spend
        self.looked |= {step} if entry["regular_peak_nano"] else set()
        if self.user or self._is_landmark(step):
            self.on_landmarks += spend
            return
        last = range(step - self.window + 1, step + 1)
        held = sum(self.spends.get(at, 0) for at in last if not self._is_landmark(at))
        looked = self.window * self.charge if entry["regular_peak_nano"] else 0
        self.dearest = max(self.dearest, held + looked)

    def lost(self) -> int:
        """Return the largest loss, by the spends and the final landmarks."""
        certain = {step for step in self.spends if self.user or self._is_landmark(step)}
        costs = {step: spend + self.charge * (step in self.looked) for step, spend in self.spends.items()}
        windows = [range(last - self.window + 1, last + 1) for last in self.spends]
        dearest = max((sum(costs.get(at, 0) for at in window if at not in certain) for window in windows), default=0)
        return self.drawn + sum(costs[step] for step in certain) + dearest

    def _is_landmark(self, step: int) -> bool:
        return any(step in span for span in self.landmarks)
