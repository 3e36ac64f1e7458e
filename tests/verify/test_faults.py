"""Each planted fault is found at confidence 1 - 10^-6, in at most three steps; without it the pair holds."""

from contextlib import nullcontext
from fractions import Fraction
from typing import Any, NamedTuple

import pytest

from tests.run import ADAPTIVE, BALANCED, CATEGORY, COUNTS, FILTERS, KINDS, LOCATION, NUMBER, UNIFORM, VECTOR
from tests.verify import collected_faults, faults, hidden_faults, unit_faults
from tests.verify.tried import Plant, protected, row_of, tried

pytestmark = pytest.mark.slow

EVENT = protected("event")
FIRST, THIRD, LATER = "the first step", "a step after two other steps", "a step after many steps"
CLOSE, INVALID, SAME = "one cell apart", "an invalid value or another value", "an invalid value or its substitute"
AMONG = "landmarks and a step among equal steps"
REPLACED_NUMBER = {**NUMBER, "invalid": 5}
PARITY, CUT = (faults.of_kind(hidden_faults.made(kind)) for kind in (hidden_faults.ParityKept, hidden_faults.Cut))
SUBSTITUTE, FIFTH, COIN = hidden_faults.substitute_bare, hidden_faults.bare_from_the_fifth, hidden_faults.coin_reused
AFTER, AHEAD, LATE = (
    "landmarks and a regular step after them",
    "a landmark registered in advance",
    "a landmark registered late",
)
TURNS = "a window after a step, alternating"
TENTH, QUARTER, HALF = Fraction(9, 10), Fraction(3, 4), Fraction(1, 2)
COLLECTED = {"kind": "counts", "keys": ["walk", "ride"]}
LOOKED = {"neighbours": "replace", "open_steps": 1, "intrusion_nano": 10**9}
WIDE = {**COUNTS, "sensitivity": 10}
DISTINCT = (NUMBER, COUNTS, LOCATION)
PRIVATE: dict[str, object] = {"name": "ba", "dissimilarity": "private"}
FIRST_COME, REGULAR = ({"name": "balanced", "regular_share": share} for share in (0, 1))
"""Schemes under which single steps have most of the budget: what is not counted then reveals most."""


class Planted(NamedTuple):
    """A fault in a policy that concerns it, and the pair and number of runs that show it."""

    fault: str
    plant: Plant
    pair: str
    runs: int
    parameters: dict[str, Any]

    @property
    def name(self) -> str:
        """Return the fault and where it is planted."""
        scheme, kind = self.parameters["scheme"]["name"], self.parameters["value"]["kind"]
        return f"{self.fault}, {self.parameters['protection']['level']} {scheme} {kind}"


def planted(
    fault: str, plant: Plant, pair: str, runs: int, protection: Any, scheme: Any, value: Any, **more: Any
) -> Planted:
    """Return a row of the table."""
    return Planted(fault, plant, pair, runs, {"protection": protection, "scheme": scheme, "value": value, **more})


TWO, ONE, NONE = (protected("landmark", landmarks=landmarks) for landmarks in ([1, 2], [3], []))
USER = protected("user", length=3)
LONGER = protected("user", length=8)
BESIDE = protected("landmark", window=2)
SINGLE, WINDOW = (protected("w-event", window=window) for window in (1, 2))
TWICE, UNCOUNTED, UNCHARGED = faults.landmark_spent_twice, faults.regular_uncounted, faults.late_uncharged

READ = protected("event", within="sum", open_steps=1)
HIDDEN = protected("event", within="mean", open_steps=1, absent=2)
UNREAD = "the first step, with or without a reading"

PULSE = {"kind": "number", "lower": 60, "upper": 100, "resolution": 0.5}
DISTRICTS = {"kind": "choice", "items": ["north", "centre", "south"]}
TAKING_PART = {"neighbours": "add-remove"}
COUNTED = {"neighbours": "replace", "open_steps": 1}
SUM, MEAN = ({**COUNTED, **TAKING_PART, "statistic": statistic} for statistic in ("sum", "mean"))
REPLACED_SUM, REPLACED_MEAN = ({**COUNTED, "statistic": statistic} for statistic in ("sum", "mean"))
REPLACED, CLAMPED_LATE, RAW_NUMBER, LARGEST = (
    collected_faults.gathering(change)
    for change in (
        collected_faults.as_if_replaced,
        collected_faults.clamped_late,
        collected_faults.raw_number,
        collected_faults.largest,
    )
)
ALONE = f"{FIRST}, with no other contributors"

ONE_UNIT, ACROSS = "one unit", "units in a row, across a step boundary"
MARKED, TOLD, UNITS_LATE = "landmark units", "a unit registered before its step ends", "units registered late"
SINGLES = protected("event", unit=2, open_steps=1)
IN_A_ROW = protected("landmark", unit=2, open_steps=2, window=3, landmarks=[3])
SPARED = protected("landmark", unit=2, open_steps=1, spare=2)
LIKELY: dict[str, Any] = {**PULSE, "statistic": "share", "from": 70, "to": 80}
TOTAL, AVERAGE = ({**PULSE, "statistic": statistic} for statistic in ("sum", "mean"))
PLACES: dict[str, Any] = {**CATEGORY, "statistic": "histogram"}
LEVELS: dict[str, Any] = {**PULSE, "statistic": "histogram", "edges": [70, 90]}
BY_DAY: dict[str, Any] = {**AVERAGE, "by": "weekday"}

PLANTED = [
    planted("landmark budget spent twice", TWICE, AFTER, 3000, TWO, FIRST_COME, NUMBER, epsilon=1.4),
    planted("landmark budget spent twice", TWICE, AFTER, 8000, TWO, UNIFORM, NUMBER),
    planted("landmark budget spent twice", TWICE, AFTER, 16_000, TWO, ADAPTIVE, CATEGORY),
    planted("landmark budget spent twice", TWICE, AFTER, 16_000, TWO, BALANCED, COUNTS),
    planted("landmark budget spent twice", TWICE, "all steps", 16_000, USER, UNIFORM, NUMBER),
    planted("regular spend not counted", UNCOUNTED, AHEAD, 3500, NONE, FIRST_COME, NUMBER, epsilon=1.4),
    planted("regular spend not counted", UNCOUNTED, AHEAD, 10_000, NONE, UNIFORM, NUMBER),
    planted("regular spend not counted", UNCOUNTED, AHEAD, 10_000, NONE, ADAPTIVE, COUNTS),
    planted("regular spend not counted", UNCOUNTED, AHEAD, 10_000, NONE, BALANCED, NUMBER),
    planted("late landmark not charged", UNCHARGED, LATE, 3500, ONE, REGULAR, NUMBER, epsilon=1.4),
    planted("late landmark not charged", UNCHARGED, LATE, 16_000, ONE, UNIFORM, NUMBER),
    planted("late landmark not charged", UNCHARGED, LATE, 16_000, ONE, BALANCED, COUNTS),
    planted("late landmark not charged", UNCHARGED, LATE, 16_000, BESIDE, BALANCED, NUMBER),
    planted("scale too small", faults.scaled(TENTH), FIRST, 60_000, EVENT, UNIFORM, NUMBER),
    planted("scale too small", faults.scaled(TENTH), FIRST, 60_000, EVENT, BALANCED, WIDE),
    planted("scale too small", faults.scaled(HALF), FIRST, 2000, EVENT, UNIFORM, NUMBER),
    planted("scale too small", faults.scaled(HALF), FIRST, 4000, EVENT, BALANCED, COUNTS),
    planted("scale too small", faults.scaled(HALF), FIRST, 5000, EVENT, UNIFORM, LOCATION),
    planted("values not clamped", faults.of_kind(faults.unclamped), FIRST, 1000, EVENT, UNIFORM, NUMBER),
    planted("values not clamped", faults.of_kind(faults.unclamped), FIRST, 1000, READ, UNIFORM, NUMBER),
    planted("scale too small", faults.scaled(HALF), FIRST, 2000, READ, UNIFORM, NUMBER),
    planted(
        "a step without a reading is free", faults.under(faults.shown_absence), UNREAD, 1000, HIDDEN, UNIFORM, NUMBER
    ),
    planted("sensitivity of replace for add-remove", REPLACED, FIRST, 1000, EVENT, UNIFORM, PULSE, collect=SUM),
    planted(
        "items clamped after they are summed", CLAMPED_LATE, FIRST, 2000, EVENT, UNIFORM, PULSE, collect=REPLACED_SUM
    ),
    planted("scale too small", faults.scaled(HALF), FIRST, 4000, EVENT, ADAPTIVE, PULSE, collect=REPLACED_MEAN),
    planted("mean from the raw count", RAW_NUMBER, FIRST, 1000, EVENT, UNIFORM, PULSE, collect=MEAN),
    planted("mean from the raw count", RAW_NUMBER, "all steps", 1000, USER, UNIFORM, PULSE, collect=MEAN),
    planted("choice by argmax", LARGEST, ALONE, 500, EVENT, UNIFORM, DISTRICTS, collect=COUNTED),
    planted("choice by argmax", LARGEST, ALONE, 500, EVENT, ADAPTIVE, DISTRICTS, collect={**COUNTED, **TAKING_PART}),
    planted(
        "choice without halving",
        faults.of_kind(collected_faults.unhalved),
        FIRST,
        4500,
        EVENT,
        UNIFORM,
        DISTRICTS,
        collect=COUNTED,
    ),
    planted("category too true", faults.truthful(Fraction(11, 10)), FIRST, 40_000, EVENT, UNIFORM, CATEGORY),
    planted("category too true", faults.truthful(Fraction(2)), FIRST, 2000, EVENT, UNIFORM, CATEGORY, epsilon=1.0),
    planted("one part without noise", faults.of_kind(faults.one_part_bare), FIRST, 500, EVENT, UNIFORM, VECTOR),
    planted("one part without noise", faults.of_kind(faults.one_part_bare), FIRST, 500, EVENT, BALANCED, VECTOR),
    planted(
        "one part with all of the spend", faults.of_kind(faults.one_share_whole), FIRST, 8000, EVENT, UNIFORM, VECTOR
    ),
    planted("coin that sees the value", faults.coin_that_sees, THIRD, 2000, EVENT, ADAPTIVE, NUMBER),
    planted("filter fed with the raw value", faults.filter_fed_raw, FIRST, 500, EVENT, BALANCED, NUMBER),
    planted("filter fed with the raw value", faults.filter_fed_raw, FIRST, 500, EVENT, BALANCED, COUNTS),
    planted("approximated step repeats the raw value", faults.approximated_raw, THIRD, 4000, EVENT, ADAPTIVE, NUMBER),
    planted("approximated step repeats the raw value", faults.approximated_raw, TURNS, 2000, WINDOW, PRIVATE, NUMBER),
    planted("substitute without noise", SUBSTITUTE, INVALID, 1000, EVENT, UNIFORM, REPLACED_NUMBER),
    planted("substitute told from its value", SUBSTITUTE, SAME, 1000, EVENT, UNIFORM, REPLACED_NUMBER),
    planted("bare from the fifth step on", FIFTH, LATER, 500, EVENT, UNIFORM, NUMBER),
    planted("bare from the fifth step on", FIFTH, AMONG, 500, ONE, BALANCED, NUMBER),
    planted("bare from the fifth step on", FIFTH, "the first steps", 1000, LONGER, UNIFORM, NUMBER),
    planted("bare from the fifth step on", FIFTH, "a window after many steps", 500, WINDOW, UNIFORM, NUMBER),
    planted("parity kept", PARITY, CLOSE, 1000, EVENT, UNIFORM, NUMBER),
    planted("noise cut at four scales", CUT, "the first steps", 1500, LONGER, UNIFORM, NUMBER, epsilon=0.5),
    planted("noise of the coin's bits", COIN, THIRD, 5000, EVENT, ADAPTIVE, NUMBER, epsilon=1.0),
    planted("half the noise in columns", faults.half_the_noise_in_columns, LATER, 2000, EVENT, UNIFORM, NUMBER),
    planted(
        "columns forget what landmarks spent",
        faults.forgotten_in_columns,
        AFTER,
        3000,
        TWO,
        FIRST_COME,
        NUMBER,
        epsilon=1.4,
    ),
    planted("private dissimilarity not charged", faults.uncharged, TURNS, 12_000, SINGLE, PRIVATE, NUMBER),
    planted("window one step short", faults.windowed(steps=1), "a window", 4000, WINDOW, UNIFORM, NUMBER),
    planted("window one step short", faults.windowed(steps=1), "a window", 8000, WINDOW, {"name": "ba"}, COUNTS),
    planted(
        "start noise of counters missing",
        faults.under(faults.bare),
        f"{FIRST}, the first item sent before a look",
        500,
        EVENT,
        UNIFORM,
        COLLECTED,
        collect=LOOKED,
    ),
    planted("noise without the window", unit_faults.noise_without_window, ACROSS, 2000, IN_A_ROW, UNIFORM, TOTAL),
    planted("noise without the window", unit_faults.noise_without_window, ACROSS, 4000, IN_A_ROW, BALANCED, BY_DAY),
    planted("1 for 2 in a histogram", unit_faults.one_for_two_bins, ONE_UNIT, 2000, SINGLES, UNIFORM, LEVELS),
    planted("1 for 2 in a histogram", unit_faults.one_for_two_bins, ONE_UNIT, 2000, SINGLES, ADAPTIVE, PLACES),
    planted(
        "noise divided by the count twice", unit_faults.noise_divided_twice, ONE_UNIT, 1000, SINGLES, UNIFORM, AVERAGE
    ),
    planted("a landmark unit not left out", unit_faults.landmarks_counted, MARKED, 1000, IN_A_ROW, UNIFORM, LIKELY),
    planted("a registered unit not left out", unit_faults.landmarks_counted, TOLD, 1000, SPARED, UNIFORM, BY_DAY),
    planted("a unit counted twice", unit_faults.unit_counted_twice, ONE_UNIT, 2000, SINGLES, UNIFORM, TOTAL),
    planted("a unit counted twice", unit_faults.unit_counted_twice, ONE_UNIT, 4000, SINGLES, BALANCED, PLACES),
    planted("late units not charged", unit_faults.late_units_uncharged, UNITS_LATE, 4000, SPARED, ADAPTIVE, TOTAL),
]


LONG = [
    *(
        planted("landmark budget spent twice", TWICE, AFTER, 40_000, TWO, scheme, value)
        for scheme in (UNIFORM, ADAPTIVE, BALANCED)
        for value in KINDS.values()
    ),
    *(planted("landmark budget spent twice", TWICE, "all steps", 40_000, USER, ADAPTIVE, value) for value in DISTINCT),
    *(
        planted("late landmark not charged", UNCHARGED, LATE, 40_000, ONE, ADAPTIVE, value)
        for value in (NUMBER, COUNTS)
    ),
    planted("late landmark not charged", UNCHARGED, LATE, 20_000, ONE, REGULAR, LOCATION, epsilon=1.4),
    *(
        planted("regular spend not counted", UNCOUNTED, AHEAD, 40_000, NONE, ADAPTIVE, value)
        for value in (NUMBER, COUNTS)
    ),
    planted("regular spend not counted", UNCOUNTED, AHEAD, 20_000, NONE, FIRST_COME, LOCATION, epsilon=1.4),
    planted("scale too small", faults.scaled(QUARTER), FIRST, 60_000, EVENT, UNIFORM, {**LOCATION, "radius": 5000}),
    *(
        planted("coin that sees the value", faults.coin_that_sees, TURNS, 8000, WINDOW, {"name": name}, value)
        for name in ("bd", "ba")
        for value in KINDS.values()
    ),
    *(
        planted("filter fed with the raw value", faults.filter_fed_raw, FIRST, 20_000, EVENT, BALANCED, KINDS[kind])
        for kind, filtered in FILTERS
        if filtered == "level"
    ),
    *(
        planted("approximated step repeats the raw value", faults.approximated_raw, pair, 8000, level, scheme, value)
        for pair, level, scheme in ((THIRD, EVENT, ADAPTIVE), (TURNS, WINDOW, {"name": "bd"}), (TURNS, WINDOW, PRIVATE))
        for value in (KINDS.values() if scheme is not PRIVATE else (NUMBER, COUNTS))
    ),
    planted("private dissimilarity not charged", faults.uncharged, TURNS, 40_000, SINGLE, PRIVATE, COUNTS),
    *(
        planted("window one step short", faults.windowed(steps=1), "a window", 20_000, WINDOW, UNIFORM, value)
        for value in DISTINCT
    ),
    planted(
        "one charge for late units", unit_faults.late_units_charged_once, UNITS_LATE, 8000, SPARED, UNIFORM, LIKELY
    ),
]
"""For `make long`: all schemes and kinds a fault concerns, and one that `tests/privacy/units` finds too."""


FAULTS = {row.fault for row in PLANTED}


def chosen() -> set[int]:
    """Return the positions of `make test`'s rows: the fewest runs for each fault, level, scheme and kind."""
    found: set[int] = set()
    seen: set[str] = set()
    for place, row in sorted(enumerate(PLANTED), key=lambda one: one[1].runs):
        parts = {row.fault, *(str(row.parameters[name][key]) for name, key in PARTS)}
        if parts - seen:
            found.add(place)
            seen |= parts
    return found


PARTS = (("protection", "level"), ("scheme", "name"), ("value", "kind"))
CHOSEN = chosen()
ROWS = [
    *(
        pytest.param(row, id=row.name, marks=[] if place in CHOSEN else pytest.mark.long)
        for place, row in enumerate(PLANTED)
    ),
    *(pytest.param(row, id=row.name, marks=pytest.mark.long) for row in LONG),
]


@pytest.mark.parametrize("row", ROWS)
def test_a_planted_fault_is_found(row: Planted) -> None:
    """It shows more than declared, at the confidence at which a policy is called broken."""
    result = tried(row_of(**row.parameters), row.pair, row.plant, row.runs)
    print(f"\n{row.name}: declared {result.declared}, certain {result.measured.certain:.3f}: {result.measured.event}")
    assert result.broken


@pytest.mark.parametrize("row", ROWS)
def test_without_the_fault_the_pair_holds(row: Planted) -> None:
    """The same pair without the fault, at an eighth of the runs, is not called broken."""
    assert not tried(row_of(**row.parameters), row.pair, nullcontext, row.runs // 8).broken


def test_there_are_faults_enough() -> None:
    """There are at least as many as the audit of the noise was asked to find."""
    assert len(FAULTS) >= 13
