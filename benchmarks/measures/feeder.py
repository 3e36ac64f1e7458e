"""The benchmark `feeder`: the error of one released sum over many homes, relative to summed private series.

There is one private series per home. Both use the same epsilon per hour and the worker's own decision, over loads that
every machine computes identically.
"""

from collections.abc import Iterator
from math import fsum
from pathlib import Path
from random import Random  # noqa: TID251 (made-up loads, no noise)
from typing import Any

from benchmarks.result import Figure, Result, Show, Target
from benchmarks.rig.workload import HOUR_MS, START_MS, VALUES, Sizes
from stream_app.deciding.collection import Collection
from stream_app.deciding.context import Context
from stream_app.deciding.decision import decide
from stream_app.deciding.outcome import ProcessedRecord, WatermarkAdvance
from stream_app.deciding.rows import SeriesRow
from stream_app.formats import wire
from stream_app.formats.records import InputRecord
from stream_app.privacy.noise.key import SECRET_BYTES, KeyRing

DEFAULT = Sizes(events=100, series=200, repeats=3)
"""``events`` are the hours, ``series`` the homes; each repeat has its own key and loads."""
NEEDS_BROKER = False
FEEDER = "feeder"
_EVENT: dict[str, Any] = {
    "epsilon": 1.0,
    "protection": {"level": "event", "step": HOUR_MS},
    "scheme": {"name": "uniform"},
    "value": VALUES["number"],
}
_SUM = {"neighbours": "add-remove", "open_steps": 1, "statistic": "sum"}
_MEDIAN_KW, _SPREAD = -0.7, 0.8
"""Mean and spread of a home's log load; the median load is half a kilowatt."""


def run(_: Path, sizes: Sizes, show: Show) -> Result:
    """Measure mean |error| / mean sum for released sums and for summed noisy values, and their ratio."""
    found: dict[str, list[float]] = {name: [] for name in ("sum", "added", "added_over_sum")}
    for repeat in range(sizes.repeats):
        random = Random(repeat)
        hours = [
            [min(10.0, random.lognormvariate(_MEDIAN_KW, _SPREAD)) for _ in range(sizes.series)]
            for _ in range(sizes.events)
        ]
        truth = [fsum(homes) for homes in hours]
        worker = _Worker(repeat)
        errors: dict[str, list[float]] = {"sum": [], "added": []}
        for nth, homes in enumerate(hours):
            errors["sum"].append(abs(worker.summed(nth, homes) - truth[nth]))
            errors["added"].append(abs(worker.added(nth, homes) - truth[nth]))
            show(f"repeat {repeat + 1}", nth + 1, sizes.events)
        for name, each in errors.items():
            found[name].append(fsum(each) / fsum(truth))
        found["added_over_sum"].append(found["added"][-1] / found["sum"][-1])
    figures = {name: Figure.of("" if "over" in name else "of the sum", runs) for name, runs in found.items()}
    # Laplace noise has mean magnitude b, and n of them add up to nearly normal noise of variance 2 * n * b * b.
    return Result("feeder", sizes.document(), figures, (Target("added_over_sum", "at least", 10),))


class _Worker:
    """Processes records of the feeder and of its homes."""

    def __init__(self, number: int) -> None:
        secret = number.to_bytes(SECRET_BYTES, "big")
        self._context, self._collection = Context(KeyRing("0" * 16, 0, secret)), Collection(secret)
        self._rows: dict[str, SeriesRow] = {}
        self._offset = 0

    def summed(self, hour: int, homes: list[float]) -> float:
        """Return the released sum of an hour."""
        if not hour:
            self._policy(FEEDER, _EVENT | {"collect": _SUM})
            self._watermark(0)
        for nth, load in enumerate(homes):
            item = {"series": FEEDER, "timestamp": START_MS + hour * HOUR_MS, "member": f"home-{nth}", "value": load}
            list(self._taken({"type": "contribution", **item}))
        (release,) = self._watermark(hour + 1)
        return float(release["measurement"])

    def added(self, hour: int, homes: list[float]) -> float:
        """Return the sum of the noisy values of all homes' own series, unclamped to avoid a bias."""
        measured = []
        for nth, load in enumerate(homes):
            if not hour:
                self._policy(f"home-{nth}", _EVENT)
            event = {"series": f"home-{nth}", "timestamp": START_MS + hour * HOUR_MS, "value": load}
            measured += [float(release["measurement"]) for release in self._taken(event)]
        return fsum(measured)

    def _policy(self, series: str, policy: dict[str, Any]) -> None:
        list(self._taken({"type": "policy", "series": series, "version": 1, **policy}))

    def _watermark(self, hour: int) -> list[Any]:
        mark = {"series": FEEDER, "timestamp": START_MS + hour * HOUR_MS, "seed": f"{hour:064x}"}
        return list(self._taken({"type": "watermark", **mark}))

    def _taken(self, record: dict[str, Any]) -> Iterator[Any]:
        """Process a record and yield its releases."""
        found = InputRecord("bench", 0, self._offset, 0, None, wire.dump(record))
        outcome = decide(self._context, self._rows.get, self._collection, found)
        self._offset += 1
        if isinstance(outcome, ProcessedRecord | WatermarkAdvance):
            self._rows[outcome.row.series] = outcome.row
        steps = (
            outcome.steps
            if isinstance(outcome, WatermarkAdvance)
            else (outcome,)
            if isinstance(outcome, ProcessedRecord)
            else ()
        )
        yield from (wire.load(step.release) for step in steps if step.release is not None)
