"""The exact form of each record: the order and types of its members, and any ranges not checked later."""

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple, get_origin, get_type_hints

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
from stream_app.audit.form.statistic import is_bars, statistic_fault

Values = list[Any]  # the members' values in order; types match the form

HASH_DIGITS: Final = 64
DUMMY_METHODS: Final = ("optimal", "heuristic", "partitioned", "padding")  # how dummy landmarks are drawn
_KEY: Final = re.compile("[0-9a-f]{16}")


class EntryForm(NamedTuple):
    """The form of a kind of entry; `fault` finds other faults, and `absent` has the values of absent members."""

    kind: str
    types: tuple[type, ...]
    entry: type[Known]
    fault: Callable[[Any], str]
    absent: tuple[tuple[int, Any], ...]  # indices of the members in the entry, ascending

    def make(self, values: Values) -> Entry | str:
        """Return the entry, or a sentence that says why these values do not form an entry."""
        del values[2]  # the kind
        for place, value in self.absent:
            values.insert(place, value)
        entry = self.entry._make(values)
        return self.fault(entry) or _link_fault(entry) or entry


_JSON: Final[dict[type, str]] = {
    type(None): "null",
    bool: "true or false",
    str: "a text",
    int: "a whole number",
    float: "a number with a decimal point or exponent",
    list: "a list",
    dict: "an object",
}
"""The names of JSON types, by the Python types that represent them."""


def misfit(name: str, found: object, due: type) -> str:
    """Return a sentence saying that a member has the wrong type, without revealing the member's value."""
    return f"`{name}` is {_JSON[type(found)]}, but must be {_JSON[due]}"


def shown(found: object) -> str:
    """Return an unknown name as it was found, or the type of anything that is not text."""
    return repr(found) if isinstance(found, str) else f"which is {_JSON[type(found)]}"


def is_hash(text: str) -> bool:
    """Return whether a text is a BLAKE2b-256 hash in hex."""
    try:
        return len(text) == HASH_DIGITS and bytes.fromhex(text).hex() == text
    except ValueError:
        return False


def _perturbed(entry: ReleaseEntry) -> str:
    is_due = entry.decision == PERTURBED and entry.epsilon_nano > 0
    return _release(entry) if is_due else "`epsilon_nano` must be above 0 in a perturbed release"


def _unperturbed(entry: ReleaseEntry) -> str:
    is_due = entry.decision in (APPROXIMATED, WITHHELD)
    return _release(entry) if is_due else "`decision` must be approximated or withheld if no epsilon is spent"


def _release(entry: ReleaseEntry) -> str:
    if not is_hash(entry.release):
        return "`release` is not 64 hexadecimal digits"
    return "" if 0 <= entry.timestamp <= MAX_TIMESTAMP else "`timestamp` is out of range"


def _claiming(entry: PolicyEntry) -> str:
    return "" if (entry.lifetime_nano or 0) > 0 else "`lifetime_nano` must be above 0 or absent"


def _viewing(entry: PolicyEntry) -> str:
    return _claiming(entry) if entry.view else "`view` must be true or absent"


def _weaker(entry: PolicyEntry) -> str:
    return "" if entry.weaker else "`weaker` must be true or absent"


def _dummies(entry: DummiesEntry) -> str:
    is_known = entry.method in DUMMY_METHODS and entry.charged_nano >= 0
    return "" if is_known else "`method` is not known, or `charged_nano` is below 0"


def _landmarks(entry: LandmarksEntry) -> str:
    are_due = _are_intervals(entry.add)
    return "" if are_due else "`add` is not a list of at least one disjoint [start, end) pair in ascending order"


def _intrusion(entry: IntrusionEntry) -> str:
    if not _are_intervals(entry.exposed):
        return "`exposed` is not a list of at least one disjoint [start, end) pair in ascending order"
    return "" if 1 <= entry.intrusion_nano <= MAX_SEQUENCE else "`intrusion_nano` is out of range"


def _are_intervals(found: list[Any]) -> bool:
    last = -1
    for pair in found:
        if type(pair) is not list or list(map(type, pair)) != [int, int] or not last < pair[0] < pair[1]:
            return False
        last = pair[1]
    return bool(found)


def _member(entry: MemberEntry) -> str:
    is_due = 0 <= entry.cap_nano <= MAX_SEQUENCE and not entry.epoch
    return "" if is_due else "`cap_nano` is out of range, or `epoch` is not 0"


def _nothing(_: Known) -> str:
    return ""


def _link_fault(entry: Known) -> str:
    if not 1 <= entry.sequence <= MAX_SEQUENCE or entry.epoch < 0:
        return "`sequence` or `epoch` is out of range"
    if not entry.series or (not isinstance(entry, MemberEntry) and entry.policy < 1):
        return "`series` is empty, or `policy` is below 1"
    if _KEY.fullmatch(entry.key) is None:
        return "`key` is not 16 hexadecimal digits"
    are_hashes = is_hash(entry.previous) and is_hash(entry.hash)
    return "" if are_hashes else "`previous` or `hash` is not 64 hexadecimal digits"


def _form(
    kind: str, entry: type[Known], fault: Callable[[Any], str], **absent: Any
) -> tuple[tuple[str, ...], EntryForm]:
    """Return the names of the members in order, and the form of entries that lack the members in `absent`."""
    hints = {"parameters": dict, "lifetime_nano": int}  # their JSON types, if present
    types = {name: hints.get(name) or get_origin(hint) or hint for name, hint in get_type_hints(entry).items()}
    places = tuple((entry._fields.index(name), value) for name, value in absent.items())
    names = [name for name in entry._fields if name not in absent]
    due = (*(types[name] for name in names[:2]), str, *(types[name] for name in names[2:]))
    return (*names[:2], "entry", *names[2:]), EntryForm(kind, due, entry, fault, places)


ENTRY_FORMS: Final[dict[tuple[str, ...], EntryForm]] = dict(
    (
        _form("release", ReleaseEntry, _perturbed),
        _form("release", ReleaseEntry, _unperturbed, epsilon_nano=0),
        _form("policy", PolicyEntry, _nothing, lifetime_nano=None, view=False, weaker=False),
        _form("policy", PolicyEntry, _claiming, view=False, weaker=False),
        _form("policy", PolicyEntry, _viewing, weaker=False),
        _form("policy", PolicyEntry, _weaker, lifetime_nano=None, view=False),
        _form("dummies", DummiesEntry, _dummies),
        _form("landmarks", LandmarksEntry, _landmarks),
        _form("intrusion", IntrusionEntry, _intrusion),
        _form("close", CloseEntry, _nothing),
        _form("member", MemberEntry, _member),
    )
)
"""The form of an entry, keyed by its members' names in order."""

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
"""The decision of a release, keyed by its members' names in order."""

_RELEASE_TYPES: Final[dict[str, type]] = {
    "series": str,
    "timestamp": int,
    "policy": int,
    "epsilon_nano": int,
    "source": int,
}


def release_of(members: dict[str, Any]) -> ReleaseRecord | str:
    """Return the release with these members, or a sentence that says why they do not form a release."""
    decision = RELEASE_FORMS.get(tuple(members))
    if decision is None or decision != members["decision"]:
        return "its members are not the members of a release with its decision, in the required order"
    for name, due in _RELEASE_TYPES.items():
        if name in members and type(members[name]) is not due:
            return misfit(name, members[name], due)
    release = ReleaseRecord(
        **{name: part for name, part in members.items() if name != "count"}, items=members.get("count")
    )
    if not release.series or release.policy < 1:
        return "`series` is empty, or `policy` is below 1"
    if not all(0 <= at <= MAX_TIMESTAMP for at in (release.timestamp, release.source or 0)):
        return "`timestamp` or `source` is out of range"
    if decision == PERTURBED and (members["epsilon_nano"] < 1 or not _is_scale(members["scale"])):
        return "`epsilon_nano` or `scale` is not above 0, or `scale` is not a number with a decimal point or exponent"
    fault = statistic_fault(members) if "statistic" in members else ""
    if fault:
        return fault
    if not all(_is_published(members[name]) for name in ("value", "measurement") if name in members):
        return "`value` or `measurement` is not a number, category, position, counts, parts or bins"
    return release


def _is_scale(scale: object) -> bool:
    parts = scale.values() if isinstance(scale, dict) else (scale,)
    return bool(parts) and all(type(part) is float and part > 0 for part in parts)


def _is_published(value: object) -> bool:
    if isinstance(value, dict):
        return bool(value) and all(type(part) in (int, float) for part in value.values())
    if isinstance(value, list):
        return is_bars(value)
    return isinstance(value, bool | int | float) or (isinstance(value, str) and value != "")
