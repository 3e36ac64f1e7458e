"""The terms of one policy version, read from the parameters in its ledger entry; unknown terms are refused.

Only what the arithmetic needs is kept. Numbers are read as the decimals they are written as.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Any, Final, Literal

from stream_app.audit.entry import MAX_TIMESTAMP
from stream_app.audit.landmarks import LandmarkSet
from stream_app.audit.share import MILLION, Share, share_of, user

NANO: Final = 10**9

Level = Literal["landmark", "event", "user"]
LEVELS: Final[tuple[Level, ...]] = ("landmark", "event", "user")
SCHEMES: Final = {
    "uniform": frozenset({"name"}),
    "adaptive": frozenset({"name", "increase", "decrease", "minimum"}),
    "skip": frozenset({"name", "accept_risk"}),
    "balanced": frozenset({"name", "regular_share"}),
}
"""The schemes with their members."""
KINDS: Final = {
    "number": frozenset({"kind", "lower", "upper", "resolution", "sensitivity", "clamp", "invalid"}),
    "counts": frozenset({"kind", "keys", "sensitivity", "clamp", "invalid"}),
    "location": frozenset({"kind", "radius", "resolution", "bounds", "clamp", "invalid"}),
    "category": frozenset({"kind", "categories", "clamp", "invalid"}),
}
"""The value kinds with their members."""
_MEMBERS: Final = frozenset({"epsilon", "protection", "scheme", "filter", "value", "correlation"})
_PROTECTION: Final = frozenset({"level", "landmarks", "step", "spare", "length"})


class TermsError(ValueError):
    """Parameters that this audit does not know how to account for; the message names the member."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What a policy version promises, as far as its arithmetic goes."""

    version: int
    budget_nano: int
    level: Level
    step_ms: int
    landmarks: LandmarkSet  # at the start of the period; numbers of steps
    spare: int
    length: int  # steps; user level only, else 0
    scheme: str
    share: Share  # what the scheme proposes
    tosses: bool  # whether the scheme may approximate though it has a share: Adaptive, after its first release
    spelling: str  # the version and the budget as every release entry spells them
    scale_nano: Fraction  # noise scale times the spend in nano-epsilon
    value: Mapping[str, Any]  # the `value` parameters, for the releases
    correlation: str | None  # the name of what is assumed to be known of its steps' correlation


def read_terms(version: int, parameters: Mapping[str, Any]) -> Terms:
    """Read the parameters of a `policy` entry; raise `TermsError` for anything unknown or impossible."""
    _known("parameters", parameters, _MEMBERS)
    protection = _object(parameters, "protection")
    _known("protection", protection, _PROTECTION)
    level = protection.get("level")
    if level not in LEVELS:
        raise TermsError(f"protection.level {level!r} is not known")
    step = _whole(protection, "step", 1, least=1)
    scheme = _object(parameters, "scheme")
    name = scheme.get("name")
    if not isinstance(name, str) or name not in SCHEMES:
        raise TermsError(f"scheme.name {name!r} is not known")
    _known("scheme", scheme, SCHEMES[name])
    if name == "skip" and scheme.get("accept_risk") is not True:
        raise TermsError('scheme.accept_risk is not true, which scheme "skip" needs')
    if level == "user" and name in ("skip", "balanced"):
        raise TermsError(f"scheme {name!r} has no meaning at level user")
    if parameters.get("filter") not in (None, "none", "level"):
        raise TermsError(f"filter {parameters['filter']!r} is not known")
    spans = protection.get("landmarks", [])
    spare = _whole(protection, "spare", 0)
    if level != "landmark" and (spans or spare):
        raise TermsError(f"level {level} takes no landmarks and no spare")
    if level != "user" and protection.get("length") is not None:
        raise TermsError(f"level {level} takes no length")
    value = _object(parameters, "value")
    budget = budget_of(parameters)
    regular = floor(_decimal(scheme, "regular_share", 0.5) * MILLION) if name == "balanced" else 0
    return Terms(
        version=version,
        budget_nano=budget,
        level=level,
        step_ms=step,
        landmarks=_landmarks(spans, step),
        spare=spare,
        length=_whole(protection, "length", None, least=1) if level == "user" else 0,
        scheme=name,
        share=user(budget) if level == "user" else share_of(name, budget, regular),
        tosses=name == "adaptive",
        spelling=f'"policy":{version},"budget_nano":{budget}',
        scale_nano=_scale(value) * NANO,
        value=value,
        correlation=_name(parameters, "correlation"),
    )


def budget_of(parameters: Mapping[str, Any]) -> int:
    """Return epsilon in nano-epsilon, rounded down."""
    budget = floor(_decimal(parameters, "epsilon", None) * NANO)
    if budget < 1:
        raise TermsError("epsilon is below one nano-epsilon")
    return budget


def steps_of(span: object, step_ms: int) -> tuple[int, int]:
    """Return the steps [start, end) that a timestamp, or an interval [start, end) of timestamps, touches."""
    if type(span) is int:
        start, end = span, span + 1
    elif isinstance(span, list) and len(span) == 2 and all(type(bound) is int for bound in span):
        start, end = span
    else:
        raise TermsError("a landmark is neither a timestamp nor a [start, end) pair of timestamps")
    if not 0 <= start < end <= MAX_TIMESTAMP + 1:
        raise TermsError(f"landmark [{start}, {end}) is empty or out of range")
    return start // step_ms, -(-end // step_ms)


def _landmarks(spans: object, step_ms: int) -> LandmarkSet:
    if not isinstance(spans, list):
        raise TermsError("protection.landmarks is not a list")
    return LandmarkSet().joined(sorted(steps_of(span, step_ms) for span in spans))


def _scale(value: Mapping[str, Any]) -> Fraction:
    """Return the noise scale at one epsilon: D*res for numbers, the radius, the sensitivity, 1 for categories."""
    kind = value.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise TermsError(f"value.kind {kind!r} is not known")
    _known("value", value, KINDS[kind])
    match kind:
        case "number":
            resolution = _positive(value, "resolution")
            low, high = _decimal(value, "lower", None), _decimal(value, "upper", None)
            cells = floor(high / resolution) - ceil(low / resolution)
            if value.get("sensitivity") is not None:
                cells = min(cells, ceil(_positive(value, "sensitivity") / resolution))
            if cells < 1:
                raise TermsError("value.lower and value.upper hold fewer than two grid points")
            return cells * resolution
        case "counts":
            return Fraction(_whole(value, "sensitivity", 1, least=1))
        case "location":
            return _positive(value, "radius")
        case _:
            return Fraction(1)


def _known(where: str, members: Mapping[str, Any], known: frozenset[str]) -> None:
    unknown = sorted(members.keys() - known)
    if unknown:
        raise TermsError(f"{where}.{unknown[0]} is not known")


def _object(members: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = members.get(name)
    if not isinstance(found, dict):
        raise TermsError(f"{name} is not an object")
    return found


def _name(members: Mapping[str, Any], name: str) -> str | None:
    found = members.get(name)
    if not isinstance(found, str | None):
        raise TermsError(f"{name} is no text")
    return found


def _whole(members: Mapping[str, Any], name: str, default: int | None, least: int = 0) -> int:
    found = members.get(name, default)
    if type(found) is not int or found < least:
        raise TermsError(f"{name} is not a whole number of at least {least}")
    return found


def _decimal(members: Mapping[str, Any], name: str, default: float | None) -> Fraction:
    found = members.get(name, default)
    if type(found) not in (int, float):
        raise TermsError(f"{name} is not a number")
    return Fraction(Decimal(repr(float(found))))  # numbers in JSON are doubles, whole ones too


def _positive(members: Mapping[str, Any], name: str) -> Fraction:
    found = _decimal(members, name, None)
    if found <= 0:
        raise TermsError(f"{name} is not above 0")
    return found
