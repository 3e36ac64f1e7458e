"""Steps decided together, to bytes: releases, ledger entries sealed into their series' chains, and stored rows.

The bytes of rows are those of `stream_app.deciding.rows`.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from stream_app.deciding.columns.deciding import Steps
from stream_app.deciding.columns.sorting import Ints
from stream_app.deciding.columns.states import (
    DECIDED,
    ESTIMATED,
    FIRST,
    GROUP,
    LINK,
    MEASURED,
    PEAK,
    RATE,
    SEQUENCE,
    SOURCE,
    SPENT,
    States,
)
from stream_app.formats.columns import hashes, lists, quoted, texts
from stream_app.formats.encoding import Output, Texts
from stream_app.privacy.state import NEVER


def outputs(states: States, decided: Sequence[Steps], count: int, fingerprint: str) -> Iterator[Output]:
    """Yield what is written of each of ``count`` steps, in the order of the batch.

    Each entry is sealed into its series' chain; behind the last one ``states`` hold the hashes. ``fingerprint`` names
    the noise key.
    """
    if not decided:
        return
    here = np.unique(np.concatenate([steps.places for steps in decided]))
    last = dict(zip(here.tolist(), links(states, here), strict=True))
    turns = np.zeros(count, np.int64)
    for number, steps in enumerate(decided):
        turns[steps.nth] = number
    made = [_texts(states, steps).written(steps.group.rule.version, fingerprint, last).__next__ for steps in decided]
    for number in turns.tolist():
        yield made[number]()
    digests = bytes.fromhex("".join(last.values()))
    states.figures[here, LINK:] = np.frombuffer(digests, np.int64).reshape(len(here), -1)


def _texts(states: States, steps: Steps) -> Texts:
    """Return the steps of a group as what is written of them is made from."""
    kind, places = steps.group.rule.kind, steps.places.tolist()
    spends = np.where(steps.published, steps.spend_nano, 1)
    return Texts(
        chain=places,
        key=steps.names,
        start_ms=steps.starts_ms.tolist(),
        published=steps.published.tolist(),
        repeated=(steps.source_ms != NEVER).tolist(),
        series=quoted([states.names[place] for place in places]),
        timestamp=texts(steps.starts_ms),
        value=texts(kind.axis.double_each(steps.estimates)),
        measurement=texts(kind.axis.double_each(steps.measured)),
        spend=texts(spends),
        scale=texts(kind.scale_each(spends)),
        source=texts(steps.source_ms),
        landmark=texts(steps.landmark),
        budget=texts(steps.budget_nano),
        spent=texts(steps.spent),
        left=texts(steps.left),
        peak=texts(steps.peak),
        sequence=texts(steps.sequences),
        epoch=texts(steps.epochs),
    )


def links(states: States, places: Ints) -> list[str]:
    """Return the hash of the last entry of the series at each place, in hex."""
    return hashes(states.figures[places, LINK:].tobytes())


def stored(states: States, places: Ints) -> list[tuple[bytes, bytes]]:
    """Return the table rows of the series at ``places``, as `rows.dump` makes them where the policy stays."""
    if not len(places):
        return []
    figures = states.figures[places]
    periods = [states.periods[place] for place in places.tolist()]
    steps_ms = np.array([group.rule.step_ms for group in states.groups], np.int64)[figures[:, GROUP]]
    decided_ms = figures[:, DECIDED]
    ends_ms, last_steps = decided_ms + steps_ms, decided_ms // steps_ms
    clocks = (decided_ms, ends_ms, figures[:, FIRST], last_steps, figures[:, RATE], figures[:, SOURCE])
    columns = zip(
        [states.names[place] for place in places.tolist()],
        periods,
        texts(figures[:, SEQUENCE]),
        links(states, places),
        lists(figures[:, [SPENT, PEAK]]),
        lists(np.stack(clocks, 1)),
        _cells(states, places, figures),
        strict=True,
    )
    return [
        (
            f"s{name}".encode(),
            f'[{sequence},"{link}",{period.beginning},{budget},{period.middle},{clock},{cells},{period.ending}]'.encode(),
        )
        for name, period, sequence, link, budget, clock, cells in columns
    ]


def _cells(states: States, places: Ints, figures: Ints) -> list[str]:
    """Return measurement, estimate and state of the filter, as far as there are any, each a list in JSON."""
    levels = [""] * len(places)
    if len(states.levels):
        found = zip(lists(states.levels[places]), figures[:, GROUP].tolist(), strict=True)
        levels = [level if states.groups[group].rule.filtered else "" for level, group in found]
    released = (figures[:, SOURCE] != NEVER).tolist()
    columns = zip(released, texts(figures[:, MEASURED]), texts(figures[:, ESTIMATED]), levels, strict=True)
    return [
        f"[{measured}],[{estimated}],[{level}]" if began else "[],[],[]"
        for began, measured, estimated, level in columns
    ]
