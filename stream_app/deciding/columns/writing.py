"""Steps decided together, to bytes: releases, ledger entries sealed into their series' chains, and stored rows.

The bytes are those of `stream_app.formats.encoding` and `stream_app.deciding.rows`.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from stream_app.deciding.columns.deciding import Steps
from stream_app.deciding.columns.sorting import Ints
from stream_app.deciding.columns.states import (
    DECIDED,
    ESTIMATED,
    FIRST,
    LINK,
    MEASURED,
    PEAK,
    RATE,
    SEQUENCE,
    SOURCE,
    SPENT,
    Period,
    States,
)
from stream_app.formats.columns import Step, hashes, lists, texts, written
from stream_app.privacy.state import NEVER

Output = tuple[bytes, int, bytes, bytes]
"""What is written of a step: the record key, the timestamp, the ledger entry and the release."""

_ROW = b'[%d,"%b",%b,%b,%b,%b,[%b],[%b],[%b],%b]'


def outputs(states: States, decided: Sequence[Steps], count: int, fingerprint: str) -> Iterator[Output]:
    """Yield what is written of each of ``count`` steps, in the order of the batch.

    Each entry is sealed into its series' chain; behind the last one ``states`` hold the hashes. ``fingerprint`` names
    the noise key.
    """
    if not decided:
        return
    parts: list[Any] = [None] * count  # the place of each series, and the step
    for steps in decided:
        parted = zip(steps.nth.tolist(), steps.places.tolist(), _steps(states, steps), strict=True)
        for nth, place, step in parted:
            parts[nth] = place, step
    here = np.unique(np.concatenate([steps.places for steps in decided]))
    previous = dict(zip(here.tolist(), links(states, here), strict=True))
    key = fingerprint.encode()
    for place, step in parts:
        release, entry, previous[place] = written(step, key, previous[place])
        yield step[0].encode(), step[1], entry, release
    digests = bytes.fromhex(b"".join(previous.values()).decode())
    states.figures[here, LINK:] = np.frombuffer(digests, np.int64).reshape(len(here), -1)


def _steps(states: States, steps: Steps) -> Iterator[Step]:
    """Yield each step as what is written of it is made from."""
    kind, version = steps.group.rule.kind, steps.group.rule.version
    spends = np.where(steps.published, steps.spend_nano, 1)
    return zip(
        [states.names[place] for place in steps.places.tolist()],
        steps.starts_ms.tolist(),
        [version] * len(steps.places),
        steps.published.tolist(),
        texts(kind.axis.double_each(steps.estimates)),
        texts(kind.axis.double_each(steps.measured)),
        spends.tolist(),
        texts(kind.scale_each(spends)),
        steps.source_ms.tolist(),
        steps.landmark.tolist(),
        steps.budget_nano.tolist(),
        steps.spent.tolist(),
        steps.left.tolist(),
        steps.peak.tolist(),
        steps.sequences.tolist(),
        steps.epochs.tolist(),
        strict=True,
    )


def links(states: States, places: Ints) -> list[bytes]:
    """Return the hash of the last entry of the series at each place, in hex."""
    return hashes(states.figures[places, LINK:].tobytes())


def stored(states: States, places: Ints) -> list[tuple[bytes, bytes]]:
    """Return the table rows of the series at ``places``, as `rows.dump` makes them where the policy stays."""
    if not len(places):
        return []
    figures = states.figures[places]
    periods = [states.periods[place] for place in places.tolist()]
    steps_ms = np.array([period.policy.step_ms for period in periods], np.int64)
    decided_ms = figures[:, DECIDED]
    ends_ms, last_steps = decided_ms + steps_ms, decided_ms // steps_ms
    clocks = (decided_ms, ends_ms, figures[:, FIRST], last_steps, figures[:, RATE], figures[:, SOURCE])
    columns = zip(
        [states.names[place] for place in places.tolist()],
        periods,
        figures[:, SEQUENCE].tolist(),
        links(states, places),
        lists(figures[:, [SPENT, PEAK]]),
        lists(np.stack(clocks, 1)),
        figures[:, SOURCE].tolist(),
        figures[:, MEASURED].tolist(),
        figures[:, ESTIMATED].tolist(),
        _levels(states, places, periods),
        strict=True,
    )
    pairs: list[tuple[bytes, bytes]] = []
    for name, period, sequence, link, budget, clock, source, measured, estimated, level in columns:
        cells = (b"%d" % measured, b"%d" % estimated, level) if source != NEVER else (b"", b"", b"")
        row = _ROW % (sequence, link, period.beginning, budget, period.middle, clock, *cells, period.ending)
        pairs.append((b"s" + name.encode(), row))
    return pairs


def _levels(states: States, places: Ints, periods: Sequence[Period]) -> Sequence[bytes]:
    """Return the states of filters as JSON; empty without one."""
    if not len(states.levels):
        return [b""] * len(places)
    found = lists(states.levels[places])
    return [level if period.group.rule.filtered else b"" for level, period in zip(found, periods, strict=True)]
