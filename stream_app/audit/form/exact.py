"""The exact form of each record: its members in order, their types, and the ranges that no later check looks at."""

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from stream_app.audit.form.entry import (
    APPROXIMATED,
    MAX_SEQUENCE,
    MAX_TIMESTAMP,
    PERTURBED,
    WITHHELD,
    CloseEntry,
    DummiesEntry,
    Entry,
    IntrusionEntry,
    Known,
    LandmarksEntry,
    MemberEntry,
    PolicyEntry,
    ReleaseEntry,
    ReleaseRecord,
)

Values = list[Any]  # the members' values in order; their types were compared with the form's

HASH_DIGITS: Final = 64
DUMMY_METHODS: Final = ("optimal", "heuristic", "partitioned", "padding")  # how dummy landmarks are drawn
_KEY: Final = re.compile("[0-9a-f]{16}")


class EntryForm(NamedTuple):
    """The form of one kind of entry; `make` returns the entry, or the sentence that says why it is none."""

    kind: str
    types: tuple[type, ...]
    make: Callable[[Values], Entry | str]


_JSON: Final[dict[type, str]] = {
    type(None): "null",
    bool: "true or false",
    str: "a text",
    int: "a whole number",
    float: "a number with a point or exponent",
    list: "a list",
    dict: "an object",
}
"""What JSON calls the types of values that were read of it."""


def misfit(name: str, found: object, due: type) -> str:
    """Return the sentence that a member is of another type than it is to be; of its value it tells nothing."""
    return f"`{name}` is {_JSON[type(found)]}, where {_JSON[due]} is due"


def shown(found: object) -> str:
    """Return a name that is not known as it was found; what is no text is told by its type."""
    return repr(found) if isinstance(found, str) else f"which is {_JSON[type(found)]}"


def is_hash(text: str) -> bool:
    """Tell whether a text is a BLAKE2b-256 hash in hex."""
    try:
        return len(text) == HASH_DIGITS and bytes.fromhex(text).hex() == text
    except ValueError:
        return False


def _perturbed(values: Values) -> Entry | str:
    return _release(values) if values[4] == PERTURBED and values[8] > 0 else "`epsilon_nano` is above 0 where perturbed"


def _unperturbed(values: Values) -> Entry | str:
    if values[4] not in (APPROXIMATED, WITHHELD):
        return "`decision` is approximated or withheld where no epsilon is spent"
    values.insert(8, 0)
    return _release(values)


def _release(values: Values) -> Entry | str:
    del values[2]
    entry = ReleaseEntry._make(values)
    if not is_hash(entry.release):
        return "`release` is not 64 hexadecimal digits"
    if not 0 <= entry.timestamp <= MAX_TIMESTAMP:
        return "`timestamp` is out of range"
    return _linked(entry)


def _policy(values: Values) -> Entry | str:
    del values[2]
    values[5:5] = None, False
    return _linked(PolicyEntry._make(values))


def _claiming(values: Values) -> Entry | str:
    del values[2]
    values.insert(6, False)
    entry = PolicyEntry._make(values)
    return _linked(entry) if values[5] > 0 else "`lifetime_nano` is above 0 or absent"


def _weaker(values: Values) -> Entry | str:
    del values[2]
    values.insert(5, None)
    entry = PolicyEntry._make(values)
    return _linked(entry) if entry.weaker else "`weaker` is true or absent"


def _dummies(values: Values) -> Entry | str:
    del values[2]
    entry = DummiesEntry._make(values)
    if entry.method not in DUMMY_METHODS or entry.charged_nano < 0:
        return "`method` is not known, or `charged_nano` is below 0"
    return _linked(entry)


def _landmarks(values: Values) -> Entry | str:
    del values[2]
    entry = LandmarksEntry._make(values)
    if not _are_intervals(entry.add):
        return "`add` is not a list of disjoint [start, end) pairs, ascending, one at least"
    return _linked(entry)


def _intrusion(values: Values) -> Entry | str:
    del values[2]
    entry = IntrusionEntry._make(values)
    if not _are_intervals(entry.exposed):
        return "`exposed` is not a list of disjoint [start, end) pairs, ascending, one at least"
    if not 1 <= entry.intrusion_nano <= MAX_SEQUENCE:
        return "`intrusion_nano` is out of range"
    return _linked(entry)


def _are_intervals(found: list[Any]) -> bool:
    last = -1
    for pair in found:
        if type(pair) is not list or list(map(type, pair)) != [int, int] or not last < pair[0] < pair[1]:
            return False
        last = pair[1]
    return bool(found)


def _close(values: Values) -> Entry | str:
    del values[2]
    return _linked(CloseEntry._make(values))


def _member(values: Values) -> Entry | str:
    del values[2]
    entry = MemberEntry._make(values)
    if not 0 <= entry.cap_nano <= MAX_SEQUENCE or entry.epoch:
        return "`cap_nano` is out of range, or `epoch` is not 0"
    return _linked(entry)


def _linked(entry: Known) -> Entry | str:
    if not 1 <= entry.sequence <= MAX_SEQUENCE or entry.epoch < 0:
        return "`sequence` or `epoch` is out of range"
    if not entry.series or (not isinstance(entry, MemberEntry) and entry.policy < 1):
        return "`series` is empty or `policy` below 1"
    if _KEY.fullmatch(entry.key) is None:
        return "`key` is not 16 hexadecimal digits"
    if not is_hash(entry.previous) or not is_hash(entry.hash):
        return "`previous` or `hash` is not 64 hexadecimal digits"
    return entry


_HEAD: Final[dict[str, type]] = {"series": str, "sequence": int, "entry": str}
_STEP: Final[dict[str, type]] = {"timestamp": int, "decision": str, "landmark": bool, "policy": int, "budget_nano": int}
_SPENT: Final[dict[str, type]] = {"epsilon_nano": int}
_FIGURES: Final[dict[str, type]] = {"landmark_spent_nano": int, "landmarks_left": int, "regular_peak_nano": int}
_COVER: Final[dict[str, type]] = {"release": str}
_POLICY: Final[dict[str, type]] = {"policy": int, "budget_nano": int, "charged_nano": int}
_CLAIM: Final[dict[str, type]] = {"lifetime_nano": int}
_WEAKER: Final[dict[str, type]] = {"weaker": bool}
_TERMS: Final[dict[str, type]] = {"parameters": dict}
_DUMMIES: Final[dict[str, type]] = {"policy": int, "method": str, "charged_nano": int}
_ADD: Final[dict[str, type]] = {"policy": int, "add": list, "charged_nano": int, "budget_nano": int}
_SEEN: Final[dict[str, type]] = {"policy": int, "intrusion_nano": int, "exposed": list}
_LINK: Final[dict[str, type]] = {"key": str, "epoch": int, "previous": str, "hash": str}


_KINDS: Final[tuple[tuple[str, Callable[[Values], Entry | str], dict[str, type]], ...]] = (
    ("release", _perturbed, _HEAD | _STEP | _SPENT | _FIGURES | _COVER | _LINK),
    ("release", _unperturbed, _HEAD | _STEP | _FIGURES | _COVER | _LINK),
    ("policy", _policy, _HEAD | _POLICY | _TERMS | _LINK),
    ("policy", _claiming, _HEAD | _POLICY | _CLAIM | _TERMS | _LINK),
    ("policy", _weaker, _HEAD | _POLICY | _WEAKER | _TERMS | _LINK),
    ("dummies", _dummies, _HEAD | _DUMMIES | _LINK),
    ("landmarks", _landmarks, _HEAD | _ADD | _FIGURES | _LINK),
    ("intrusion", _intrusion, _HEAD | _SEEN | _LINK),
    ("close", _close, _HEAD | {"policy": int} | _LINK),
    ("member", _member, _HEAD | {"cap_nano": int} | _LINK),
)

ENTRY_FORMS: Final[dict[tuple[str, ...], EntryForm]] = {
    tuple(members): EntryForm(kind, tuple(members.values()), make) for kind, make, members in _KINDS
}
"""The form of an entry by the names of its members, in order."""

ENTRY_KINDS: Final = frozenset(form.kind for form in ENTRY_FORMS.values())

_PERTURBED: Final = ("series", "timestamp", "value", "decision", "measurement", "epsilon_nano", "scale", "policy")
_APPROXIMATED: Final = ("series", "timestamp", "value", "decision", "source", "policy")
_WITHHELD: Final = ("series", "timestamp", "decision", "policy")

RELEASE_FORMS: Final[dict[tuple[str, ...], str]] = {
    _PERTURBED: PERTURBED,
    (*_PERTURBED, "statistic"): PERTURBED,
    (*_PERTURBED, "statistic", "count"): PERTURBED,
    _APPROXIMATED: APPROXIMATED,
    (*_APPROXIMATED, "statistic"): APPROXIMATED,
    _WITHHELD: WITHHELD,
    (*_WITHHELD, "statistic"): WITHHELD,
}
"""The decision of a release by the names of its members, in order."""

_RELEASE_TYPES: Final[dict[str, type]] = {
    "series": str,
    "timestamp": int,
    "policy": int,
    "epsilon_nano": int,
    "source": int,
    "count": int,
}
STATISTICS: Final = ("sum", "mean")  # what becomes of numbers that are collected


def release_of(members: dict[str, Any]) -> ReleaseRecord | str:
    """Return the release of a record's members, or the sentence that says why it is none."""
    decision = RELEASE_FORMS.get(tuple(members))
    if decision is None or decision != members["decision"]:
        return "its members are not those of a release of its decision, in their order"
    for name, due in _RELEASE_TYPES.items():
        if name in members and type(members[name]) is not due:
            return misfit(name, members[name], due)
    release = ReleaseRecord(
        **{name: part for name, part in members.items() if name != "count"}, items=members.get("count")
    )
    if not release.series or release.policy < 1:
        return "`series` is empty or `policy` below 1"
    if not all(0 <= at <= MAX_TIMESTAMP for at in (release.timestamp, release.source or 0)):
        return "`timestamp` or `source` is out of range"
    if decision == PERTURBED and (members["epsilon_nano"] < 1 or not _is_scale(members["scale"])):
        return "`epsilon_nano` or `scale` is not above 0, or `scale` no number with a point or exponent"
    fault = _statistic_fault(members) if "statistic" in members else ""
    if fault:
        return fault
    if not all(_is_published(members[name]) for name in ("value", "measurement") if name in members):
        return "`value` or `measurement` is no number, category, position, counts or parts"
    return release


def _statistic_fault(members: dict[str, Any]) -> str:
    """Return what is wrong with the release of a statistic; either its number of items is public, or measured."""
    if members["statistic"] not in STATISTICS:
        return "`statistic` is not known"
    if not 0 <= members.get("count", 0) <= MAX_SEQUENCE:
        return "`count` is out of range"
    measured = members["statistic"] == "mean" and members["decision"] == PERTURBED
    if ("count" in members) is not (measured and not isinstance(members["measurement"], dict)):
        return "`count` stands in the release of a mean that is one measurement, and in no other"
    return ""


def _is_scale(scale: object) -> bool:
    parts = scale.values() if isinstance(scale, dict) else (scale,)
    return bool(parts) and all(type(part) is float and part > 0 for part in parts)


def _is_published(value: object) -> bool:
    if isinstance(value, dict):
        return bool(value) and all(type(part) in (int, float) for part in value.values())
    return isinstance(value, bool | int | float) or (isinstance(value, str) and value != "")
