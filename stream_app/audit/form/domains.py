"""The domain of each individual member of a policy, with one table for each object in the policy."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import pairwise
from operator import lt
from sys import float_info
from typing import Any, Final, NamedTuple

from stream_app.audit.form.entry import MAX_SEQUENCE, MAX_TIMESTAMP
from stream_app.audit.form.grid import Members, decimal_of


class Domain(NamedTuple):
    """The domain of one JSON member: a test, a description for messages, and whether it is required."""

    fits: Callable[[Any], bool]
    says: str
    needed: bool = False


def needed(domain: Domain) -> Domain:
    """Return the same domain, with the member required."""
    return domain._replace(needed=True)


def whole(least: int, most: int) -> Domain:
    """Return the domain of whole numbers in a range, excluding booleans."""
    return Domain(lambda found: type(found) is int and least <= found <= most, f"a whole number from {least} to {most}")


def number(least: float, most: float) -> Domain:
    """Return the domain of numbers in a range, including whole numbers."""
    return Domain(lambda found: is_number(found) and least <= found <= most, f"a number from {least} to {most}")


def positive(most: float) -> Domain:
    """Return the domain of numbers above 0 and up to `most`."""
    return Domain(lambda found: is_number(found) and 0 < found <= most, f"a number above 0 and at most {most}")


def one_of(*texts: str) -> Domain:
    """Return the domain that consists of the given texts."""
    return Domain(lambda found: isinstance(found, str) and found in texts, f"one of {', '.join(texts)}")


def listed(fits: Callable[[Any], bool], least: int, says: str) -> Domain:
    """Return the domain of lists of `least` to 4096 distinct items."""
    return Domain(
        lambda found: (
            isinstance(found, list)
            and least <= len(found) <= 4096
            and all(map(fits, found))
            and len(set(found)) == len(found)
        ),
        f"a list of {least} to 4096 different {says}",
    )


def ascending(domain: Domain, most: int) -> Domain:
    """Return the domain of strictly ascending lists of at most `most` items from `domain`."""
    return Domain(
        lambda found: (
            isinstance(found, list)
            and len(found) <= most
            and all(map(domain.fits, found))
            and all(map(lt, found, found[1:]))
        ),
        f"a list of at most {most} items in ascending order, each {domain.says}",
    )


def or_null(domain: Domain) -> Domain:
    """Return the domain extended by null."""
    return Domain(lambda found: found is None or domain.fits(found), f"{domain.says}, or null")


def is_number(found: object) -> bool:
    """Return whether this is a JSON number; true and false are not."""
    return type(found) in (int, float)


def fault_in(where: str, found: Members, table: Mapping[str, Domain]) -> str:
    """Return a sentence on a fault in an object's members, each checked by itself, or "" if there is none."""
    unknown = sorted(found.keys() - table.keys())
    if unknown:
        return f"{where}.{unknown[0]} is not known"
    for name, member in table.items():
        if name not in found:
            if member.needed:
                return f"{where}.{name} is missing"
        elif not member.fits(found[name]):
            return f"{where}.{name} is not {member.says}"
    return ""


LEVELS: Final = ("landmark", "event", "user", "w-event")
MOST_WINDOW: Final = 10_000  # steps in a window
MOST_BOUNDS: Final = 1_000  # moments at which a policy restarts
MOST_OPEN: Final = 1_000  # steps open for contributions at once
MOST_OPEN_COUNTERS: Final = 65_536  # their counters: one for each step and key
MOST_OPEN_UNITS: Final = 65_536  # units in all open steps
MOST_UNITS: Final = 10_000  # units in a step
MOST_CELLS_OF_AN_ITEM: Final = 2**31  # largest distance from 0 of an item in a sum, in grid points
MOST_NANO: Final = 10**15  # the largest epsilon in nano-epsilon


def is_text(found: object) -> bool:
    """Return whether this is a valid name or category."""
    return isinstance(found, str) and 1 <= len(found) <= 200


def _is_landmark(found: object) -> bool:
    if isinstance(found, list):
        return len(found) == 2 and all(map(_TIMESTAMP.fits, found)) and found[0] < found[1]
    return _TIMESTAMP.fits(found)


_TIMESTAMP: Final = whole(0, MAX_TIMESTAMP)
OBJECT: Final = Domain(lambda found: isinstance(found, dict), "an object", needed=True)
FLAG: Final = Domain(lambda found: isinstance(found, bool), "true or false")
_TEXT: Final = Domain(is_text, "a string of 1 to 200 characters")
DOUBLE: Final = number(-float_info.max, float_info.max)  # any finite number
COORDINATE: Final = number(-1e100, 1e100)
_SHARE: Final = number(0, 1)
ANY: Final = Domain(lambda _: True, "")  # for `invalid`, whose domain depends on the other members

_EPSILON: Final = Domain(
    lambda found: is_number(found) and found <= 1e6 and decimal_of(found) >= Fraction(1, 10**9),
    "a number from 1e-9 to 1e6",
)

PARAMETERS: Final = {
    "epsilon": needed(_EPSILON),
    "lifetime": or_null(_EPSILON),
    "protection": OBJECT,
    "scheme": OBJECT,
    "filter": or_null(one_of("none", "level")),
    "value": OBJECT,
    "correlation": or_null(_TEXT),
    "collect": or_null(Domain(lambda found: isinstance(found, dict), "an object")),
    "renew": or_null(ascending(_TIMESTAMP, MOST_BOUNDS)),
}
"""The members of a policy's parameters."""
PROTECTION: Final = {
    "level": needed(one_of(*LEVELS)),
    "landmarks": Domain(
        lambda found: isinstance(found, list) and all(map(_is_landmark, found)),
        "a list of timestamps and [start, end) pairs of timestamps with start < end",
    ),
    "step": whole(1, MAX_TIMESTAMP),
    "spare": whole(0, MAX_TIMESTAMP),
    "length": or_null(whole(1, MAX_TIMESTAMP)),
    "window": or_null(whole(1, MOST_WINDOW)),
    "within": or_null(one_of("last", "sum", "mean", "max")),
    "open_steps": or_null(whole(1, MOST_OPEN)),
    "absent": ANY,
    "unit": or_null(whole(1, MAX_TIMESTAMP)),
    "offset": or_null(whole(0, MAX_TIMESTAMP)),
}
"""The members of `protection`."""
RATES: Final = {"increase": _SHARE, "decrease": _SHARE, "minimum": _SHARE}
"""The members of a scheme that has a publishing rate."""


class SchemeDomain(NamedTuple):
    """The levels that allow a scheme, and the members that it may have besides its name."""

    levels: tuple[str, ...]
    members: Mapping[str, Domain]

    @property
    def has_rate(self) -> bool:
        """Whether the scheme has a publishing rate."""
        return RATES.keys() <= self.members.keys()


WIDE: Final = "landmark with windows of several steps"
_WINDOWED: Final = SchemeDomain(("w-event", WIDE), {**RATES, "dissimilarity": one_of("released", "private")})
_ACCEPTED: Final = Domain(lambda found: found is True, "true", needed=True)
SCHEMES: Final[Mapping[str, SchemeDomain]] = {
    "uniform": SchemeDomain(LEVELS, {}),
    "adaptive": SchemeDomain(("landmark", "event", "user"), RATES),
    "skip": SchemeDomain(("landmark", "event"), {"accept_risk": _ACCEPTED}),
    "balanced": SchemeDomain(("landmark", "event"), {"regular_share": _SHARE}),
    "bd": _WINDOWED,
    "ba": _WINDOWED,
}
UNIT_STATISTICS: Final = ("mean", "sum", "share", "histogram")
BINS: Final[Mapping[str, range]] = {"hour": range(24), "weekday": range(1, 8), "hour-of-week": range(168)}
"""The bins of local time, by the names used in `by`; Monday is weekday 1 (ISO 8601)."""
MOST_EDGES: Final = 63  # per histogram
MOST_TRANSITIONS: Final = 256  # per time zone
MOST_SHIFT_MS: Final = 86_400_000  # from local time to UTC, either way


def _are_transitions(found: object) -> bool:
    if not isinstance(found, list) or not 1 <= len(found) <= MOST_TRANSITIONS:
        return False
    pairs = all(isinstance(each, list) and len(each) == 2 for each in found)
    return (
        pairs
        and all(_MOMENT.fits(at) and _SHIFT.fits(shift) for at, shift in found)
        and all(before[0] < after[0] for before, after in pairwise(found))
    )


_MOMENT: Final = whole(0, MAX_SEQUENCE)
_SHIFT: Final = whole(-MOST_SHIFT_MS, MOST_SHIFT_MS)
OF_UNITS: Final = {
    "statistic": or_null(one_of(*UNIT_STATISTICS)),
    "from": or_null(DOUBLE),
    "to": or_null(DOUBLE),
    "edges": or_null(ascending(DOUBLE, MOST_EDGES)),
    "by": or_null(one_of(*BINS)),
    "transitions": or_null(
        Domain(
            _are_transitions, f"a list of 1 to {MOST_TRANSITIONS} [timestamp, shift] pairs with ascending timestamps"
        )
    ),
}
"""The members of a number's `value` that say which statistic of the units is published."""
COLLECT: Final = {
    "neighbours": needed(one_of("replace", "add-remove")),
    "open_steps": needed(whole(1, MOST_OPEN)),
    "intrusion_nano": or_null(whole(1, MOST_NANO)),
    "statistic": or_null(one_of("sum", "mean")),
}
"""The members of `collect`."""
