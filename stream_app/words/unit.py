"""What a policy protects as one event, in words: a step or a unit, and what a step of units publishes."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from stream_app.calendar.words import UNITS, duration_in_words

Parameters = Mapping[str, Any]  # the parameters of a valid policy record: all but type, series and version

_NAMES: Final = {"d": "day", "h": "hour", "min": "minute", "s": "second", "ms": "millisecond"}


class Unit(NamedTuple):
    """The name of a step, such as "hour" or "step of 5 min"."""

    name: str
    plural: str
    one: str

    @classmethod
    def of(cls, step_ms: int, noun: str = "step") -> "Unit":
        """Return the name of a step of ``step_ms`` ms."""
        for unit, length_ms in UNITS:
            if step_ms == length_ms:
                name = _NAMES[unit]
                return cls(name, f"{name}s", f"{'an' if name == 'hour' else 'a'} {name}")
        length = duration_in_words(step_ms)
        return cls(f"{noun} of {length}", f"{noun}s of {length}", f"a {noun} of {length}")

    def many(self, number: int) -> str:
        """Return ``number`` of these steps in words."""
        return f"{number:,} {self.name if number == 1 else self.plural}"


def protected(parameters: Parameters) -> Unit:
    """Return the name of one event of a policy: a step, or a unit of a step."""
    protection = parameters["protection"]
    if protection.get("unit"):
        return Unit.of(protection["unit"], "unit")
    return Unit.of(protection.get("step", 1))


_HELD: Final = {
    "last": "its last reading",
    "max": "its largest reading",
    "sum": "the sum of its readings",
    "mean": "the mean of its readings",
}
_BY: Final = {"hour": "hour of the day", "weekday": "weekday", "hour-of-week": "hour of the week"}


def of_units(parameters: Parameters, unit: Unit) -> Iterator[str]:
    """Yield what a step of units publishes, and that all readings in a unit are one event."""
    protection, value = parameters["protection"], parameters["value"]
    step = Unit.of(protection.get("step", 1))
    yield f"Each {step.name} publishes {statistic_of(value, unit)}."
    yield f"All readings of {unit.one} count as one event; its value is {_HELD[protection.get('within') or 'last']}."


def statistic_of(value: Mapping[str, Any], unit: Unit) -> str:
    """Return, in words, the statistic that a step publishes about its units."""
    match value["statistic"]:
        case "share":
            low, high = in_figures(value["from"]), in_figures(value["to"])
            return f"the share of its {unit.plural} with a value of at least {low} and below {high}"
        case "histogram" if value["kind"] == "category":
            return f"how many of its {unit.plural} are in each category"
        case "histogram":
            return f"how many of its {unit.plural} are in each of {len(value['edges']) + 1} bins"
        case name if value.get("by"):
            return f"the {name} of its {unit.plural} for each {_BY[value['by']]}"
        case name:
            return f"the {name} of its {unit.plural}"


def resemblance(unit: Unit) -> str:
    """Return a sentence on what a unit does not protect."""
    return (
        f"Values of neighbouring {unit.plural} are often similar. This protects what {unit.one} alone would reveal, "
        "but not what its neighbours suggest about it."
    )


def in_figures(number: float) -> str:
    """Return a number as people write it, omitting a fraction of 0."""
    return f"{number:,}".removesuffix(".0")
