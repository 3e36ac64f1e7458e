"""Steps decided together, to bytes: releases, ledger entries sealed into their series' chains, and stored rows.

The bytes of rows are those of `stream_app.deciding.rows`.
"""

from collections.abc import Iterator, Sequence
from typing import assert_never

import numpy as np

from stream_app.deciding.columns.carried import CELLS, FIGURES, RUNS, Figures, gathered
from stream_app.deciding.columns.deciding import Steps
from stream_app.deciding.columns.sorting import Ints
from stream_app.deciding.columns.states import States
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
    states.figures["previous"][here] = np.frombuffer(digests, FIGURES["previous"])


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
        value=texts(kind.axis.double(steps.estimates)),
        measurement=texts(kind.axis.double(steps.measured)),
        spend=texts(spends),
        scale=texts(kind.scale(spends)),
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
    return hashes(states.figures["previous"][places].tobytes())


def stored(states: States, places: Ints) -> list[tuple[bytes, bytes]]:
    """Return the table rows of the series at ``places``, as `rows.dump` makes them where the policy stays."""
    if not len(places):
        return []
    figures, names = gathered(states.figures, places), [states.names[place] for place in places.tolist()]
    steps_ms = np.array([group.rule.step_ms for group in states.groups], np.int64)[figures["group"]]
    last_steps = figures["decided_ms"] // steps_ms
    derived = {"decided_end_ms": figures["decided_ms"] + steps_ms, "last_step": last_steps}
    periods = zip(*[states.periods[place].texts for place in places.tolist()], strict=True)
    columns: list[Sequence[str]] = []
    for part, fields in RUNS:
        match part:
            case "figures":
                found = [derived[name] if name in derived else figures[name] for name in fields]
                columns.append(lists(np.stack(found, 1)))
            case "period":
                columns.append(next(periods))
            case "link":
                columns.append([f'"{link}"' for link in links(states, places)])
            case "cells":
                columns.append(_cells(states, places, figures))
            case _:
                assert_never(part)
    rows = map(",".join, zip(*columns, strict=True))
    return [(f"s{name}".encode(), f"[{row}]".encode()) for name, row in zip(names, rows, strict=True)]


def _cells(states: States, places: Ints, figures: Figures) -> list[str]:
    """Return `CELLS` and the state of the filter, as far as there are any, each a list in JSON."""
    levels = [""] * len(places)
    if len(states.levels):
        found = zip(lists(states.levels[places]), figures["group"].tolist(), strict=True)
        levels = [level if states.groups[group].rule.filtered else "" for level, group in found]
    released = (figures["source_ms"] != NEVER).tolist()
    columns = zip(released, *(texts(figures[name]) for name in CELLS), levels, strict=True)
    return [
        f"[{measured}],[{estimated}],[{level}]" if began else "[],[],[]"
        for began, measured, estimated, level in columns
    ]
