"""The form of a policy record's parameters: types, domains and names, with every error found at once.

Unknown members are errors: a misspelt `spare` must not silently reduce protection. policy.py checks the conditions
between members when it creates the policy.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated, Literal, get_args

from pydantic import Field, StrictBool, StrictInt, ValidationError, field_validator

from stream_app.plain import MEMBERS_BY, fault, member_of
from stream_app.privacy.kinds import ValueForm
from stream_app.privacy.kinds.form import Form, RangeForm, Text
from stream_app.privacy.kinds.location import BoundsForm

LAST_TIMESTAMP_MS = 253_402_300_799_999
"""9999-12-31T23:59:59.999Z."""
LARGEST_VERSION = 2**53 - 1
"""The highest version of a policy: every JSON reader represents it exactly, and no version can follow."""
LARGEST_EPSILON = 1_000_000.0
"""The largest epsilon: beyond it nothing is protected, and exact sampling only gets slower."""
MOST_WINDOW_STEPS = 10_000
"""Largest window: a series' row holds the cost of each published step and is written with every batch."""
MOST_OPEN_STEPS = 1000
"""Maximum number of open steps: each has raw counters in memory and an offset in its series' row."""
MOST_OPEN_CELLS = 65_536
"""Maximum number of raw counters in a series' open steps: a watermark or an intrusion may draw noise for each."""
LARGEST_INTRUSION_NANO = 10**15
"""The largest epsilon, in nano-epsilon."""
MOST_BOUNDS = 1000
"""Maximum number of renewals of a policy: each row and each renewed version's entry holds those that remain."""

Timestamp = Annotated[StrictInt, Field(ge=0, le=LAST_TIMESTAMP_MS)]
Share = Annotated[float, Field(strict=True, ge=0, le=1)]

LANDMARKS = ("protection", "landmarks")
NO_LANDMARK = (
    "is neither milliseconds since 1970 (a whole number of at least 0) nor an interval [start, end] of two such numbers"
)
EITHER = {
    "invalid": 'is neither "reject" nor a value of this kind',
    "categories": "is neither a string of 1 to 200 characters nor true or false",
}
"""Messages for members of `value` with several forms, where each form would report its own error."""
BEYOND = "is after the year 9999: times are milliseconds since 1970; divide microseconds by 1,000"


class ProtectionForm(Form):
    """The level and the steps it protects."""

    level: Literal["landmark", "event", "user", "w-event"]
    landmarks: tuple[Timestamp | tuple[Timestamp, Timestamp], ...] = ()
    step: Annotated[StrictInt, Field(ge=1, le=LAST_TIMESTAMP_MS)] = 1
    spare: Annotated[StrictInt, Field(ge=0, le=LAST_TIMESTAMP_MS)] = 0
    length: Annotated[StrictInt, Field(ge=1, le=LAST_TIMESTAMP_MS)] | None = None
    window: Annotated[StrictInt, Field(ge=1, le=MOST_WINDOW_STEPS)] | None = None
    within: Literal["last", "sum", "mean", "max"] | None = None
    open_steps: Annotated[StrictInt, Field(ge=1, le=MOST_OPEN_STEPS)] | None = None
    absent: object = None  # "approximated", or a value of the policy's kind
    unit: Annotated[StrictInt, Field(ge=1, le=LAST_TIMESTAMP_MS)] | None = None
    offset: Annotated[StrictInt, Field(ge=0, le=LAST_TIMESTAMP_MS)] | None = None

    @field_validator("landmarks")
    @classmethod
    def _ordered(cls, landmarks: tuple[int | tuple[int, int], ...]) -> tuple[int | tuple[int, int], ...]:
        # PRIVACY: name an interval by its position alone, because under dummy landmarks the timestamps are secret.
        for number, span in enumerate(landmarks, 1):
            if not isinstance(span, int) and span[0] >= span[1]:
                raise ValueError(
                    f"an interval [start, end) needs start < end, but interval number {number} does not satisfy this"
                )
        return landmarks


class CollectForm(Form):
    """How contributors' items become counts, a sum or a mean."""

    neighbours: Literal["replace", "add-remove"]
    open_steps: Annotated[StrictInt, Field(ge=1, le=MOST_OPEN_STEPS)]
    intrusion_nano: Annotated[StrictInt, Field(ge=1, le=LARGEST_INTRUSION_NANO)] | None = None
    statistic: Literal["sum", "mean"] | None = None


class UniformForm(Form):
    """Scheme Uniform."""

    name: Literal["uniform"]


class SamplingForm(Form):
    """How the sampling rate follows the changes between releases."""

    increase: Share = 0.5
    decrease: Share = 0.5
    minimum: Share = 0.1


class AdaptiveForm(SamplingForm):
    """Scheme Adaptive."""

    name: Literal["adaptive"]


class SkipForm(Form):
    """Scheme Skip."""

    name: Literal["skip"]
    accept_risk: StrictBool = False


class BalancedForm(Form):
    """Scheme Balanced."""

    name: Literal["balanced"]
    regular_share: Share = 0.5


class KellarisForm(SamplingForm):
    """The members that BD and BA share."""

    dissimilarity: Literal["released", "private"] = "released"


class BudgetDistributionForm(KellarisForm):
    """Scheme BD."""

    name: Literal["bd"]


class BudgetAbsorptionForm(KellarisForm):
    """Scheme BA."""

    name: Literal["ba"]


class DrawnForm(Form):
    """Dummy landmarks chosen from many options by the exponential mechanism."""

    method: Literal["optimal", "heuristic", "partitioned"]
    utility: Literal["proximity", "count"] = "proximity"
    fraction: Annotated[float, Field(strict=True, gt=0, lt=1)] = 0.01
    start: Timestamp
    end: Timestamp


class PaddingForm(Form):
    """Dummy landmarks drawn by one coin per step."""

    method: Literal["padding"]
    probability: Annotated[float, Field(strict=True, gt=0, le=1)]
    start: Timestamp
    end: Timestamp


SchemeForm = Annotated[
    UniformForm | AdaptiveForm | SkipForm | BalancedForm | BudgetDistributionForm | BudgetAbsorptionForm,
    Field(discriminator="name"),
]
DummiesForm = Annotated[DrawnForm | PaddingForm, Field(discriminator="method")]


class ParametersForm(Form):
    """A policy record without its type, series and version."""

    epsilon: Annotated[float, Field(strict=True, gt=0, le=LARGEST_EPSILON)]
    protection: ProtectionForm
    scheme: SchemeForm
    value: ValueForm
    filter: Literal["none", "level"] | None = None
    collect: CollectForm | None = None
    correlation: Text | None = None
    dummies: DummiesForm | None = None
    lifetime: Annotated[float, Field(strict=True, gt=0, le=LARGEST_EPSILON)] | None = None
    renew: Annotated[tuple[Timestamp, ...], Field(max_length=MOST_BOUNDS)] | None = None

    @field_validator("renew")
    @classmethod
    def _ascending(cls, renew: tuple[int, ...] | None) -> tuple[int, ...] | None:
        for number, (before, after) in enumerate(pairwise(renew or ()), 2):
            if before >= after:
                raise ValueError(f"bounds must be strictly ascending; number {number} is {after}, after {before}")
        return renew


def members_at(place: tuple[int | str, ...]) -> tuple[str, ...]:
    """Return the members that a policy has at the path ``place``.

    If a name selects the form at that path, the path includes the name.
    """
    match place:
        case ():
            found: type[Form] | None = ParametersForm
        case ("protection",):
            found = ProtectionForm
        case ("collect",):
            found = CollectForm
        case ("value", "vector", "parts", _):
            found = RangeForm
        case ("value", "location", "bounds"):
            found = BoundsForm
        case ("scheme" | "value" | "dummies" as member, str() as name):
            found = _named(member, name)
        case _:
            found = None
    return () if found is None else tuple(field.alias or name for name, field in found.model_fields.items())


def _named(member: str, name: str) -> type[Form] | None:
    """Return the form that a name selects."""
    union = {"scheme": SchemeForm, "value": ValueForm, "dummies": DummiesForm}[member]
    for form in get_args(get_args(union)[0]):
        if name in {
            known
            for field in MEMBERS_BY.values()
            if field in form.model_fields
            for known in get_args(form.model_fields[field].annotation)
        }:
            return form  # type: ignore[no-any-return]
    return None


def form_faults(error: ValidationError) -> Iterator[tuple[str, str]]:
    """Yield each member that does not fit the form, once, with the reason."""
    found: dict[str, str] = {}
    for each in error.errors(include_url=False):
        location = each["loc"]
        if location[:2] == LANDMARKS and len(location) > len(LANDMARKS):
            # PRIVACY: name a landmark by its position alone, because under dummy landmarks the timestamps are secret.
            member = ".".join(map(str, location[:3]))
            message = BEYOND if each["type"] == "less_than_equal" else NO_LANDMARK
            if message == BEYOND or member not in found:
                found[member] = message
        elif told := next((told for place, told in EITHER.items() if location[2:3] == (place,)), ""):
            member = member_of(location[: 3 if location[2] == "invalid" else 4])
            found[member] = fault(each, members_at) if len(location) == len(LANDMARKS) + 1 else told
        else:
            member = member_of(location) or "policy"
            if each["type"] in {"union_tag_invalid", "union_tag_not_found"}:
                member = f"{member}.{MEMBERS_BY[member]}"
            found[member] = fault(each, members_at)
    yield from found.items()
