"""The members `within`, `open_steps` and `absent` of a protection: several readings form one event."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from math import isfinite
from typing import Final, Literal

from stream_app.privacy.kinds import Kind, Number, UnitStatistic, of_one
from stream_app.privacy.kinds.category import CategoryForm
from stream_app.privacy.kinds.number import NumberForm
from stream_app.privacy.parameters import KellarisForm, ParametersForm
from stream_app.privacy.values import Raw, RawCells, is_number

Aggregate = Literal["last", "sum", "mean", "max"]
APPROXIMATED: Final = "approximated"
"""A value of `absent`: a step without a reading repeats an earlier release at no cost."""

PLACES: Final = 324
"""The maximum number of decimal places of a double's shortest decimal.

So readings are exact integers in units of 10 ** -324.
"""
_EXACT: Final = Context(prec=17)
_UNIT: Final = 10**PLACES


@dataclass(frozen=True, slots=True)
class Within:
    """How the readings of a step become one value; ``open_steps`` steps accept readings at the same time."""

    aggregate: Aggregate
    open_steps: int
    absent: RawCells | Literal["approximated"] | None
    """The value with which a watermark processes a step without a reading, or None if the step is skipped."""
    substitute: float | None
    """The number that replaces an invalid reading if readings are summed."""

    @property
    def gapless(self) -> bool:
        """Whether steps without a reading are processed too, so that only watermarks open and close steps."""
        return self.absent is not None

    @property
    def hides(self) -> bool:
        """Whether a step without readings looks the same as one with readings, in both the releases and the ledger."""
        return self.absent is not None and self.absent != APPROXIMATED

    def read(self, kind: Kind, value: Raw) -> RawCells | None:
        """Return the stored form of a reading, cells or the exact number in units, or None if the reading is invalid.

        Units are those of `PLACES`. `joined` combines two readings, and `aggregated` combines a step's readings.
        """
        if self.aggregate in {"last", "max"}:
            return kind.quantise(value)  # rounding and clamping are monotone: the highest cell is the maximum's
        number = float(value) if is_number(value) else None
        valid = number is not None and isfinite(number)
        # PRIVACY: a value that is not a number takes as long as its substitute, so that the time does not reveal what
        # the substitute hides. The time to read a number grows with its exponent, as docs/guarantee.md says.
        kept = number if valid else self.substitute
        exactly = RawCells((in_units(0.0 if kept is None else kept),))
        return exactly if kept is not None else None

    def joined(self, before: RawCells, part: RawCells, *, later: bool) -> RawCells:
        """Return the stored form of two readings combined; ``later`` means that ``part`` has the larger timestamp."""
        if self.aggregate == "last":
            return part if later else before
        # PRIVACY: raw numbers are combined into one raw number, which stays in memory until its step closes.
        return RawCells((max(before[0], part[0]) if self.aggregate == "max" else before[0] + part[0],))

    def aggregated(self, kind: Kind, kept: RawCells, readings: int) -> RawCells:
        """Return the cells of a step from its stored readings, rounded and clamped once after all readings.

        Sensitivity: all readings of a step are one event, so their aggregate moves within the range as a single value
        does.
        """
        if self.aggregate in {"last", "max"}:
            return kept
        assert isinstance(kind, Number), "only numbers can be added up"
        count = readings if self.aggregate == "mean" else 1
        return RawCells((kind.axis.within_exactly(kept[0], count * _UNIT),))


def in_units(number: float) -> int:
    """Return the exact decimal of a finite double in units of 10 ** -324; no double has more places."""
    return int(_EXACT.scaleb(Decimal(repr(float(number))), PLACES))


def within_of(form: ParametersForm, kind: Kind) -> Within | None:
    """Return how a policy's steps combine readings, or None if each step is one observation.

    The form must have no faults.
    """
    protection, value = form.protection, form.value
    if protection.within is None or protection.unit is not None:
        return None
    absent: RawCells | Literal["approximated"] | None = None
    if "absent" in protection.model_fields_set:
        absent = APPROXIMATED if protection.absent == APPROXIMATED else _cells(kind, protection.absent)
    invalid = value.invalid if isinstance(value, NumberForm) else None
    substitute = invalid if isinstance(invalid, float | int) else None
    return Within(protection.within, protection.open_steps or 1, absent, substitute)


def _cells(kind: Kind, value: object) -> RawCells | None:
    assert not isinstance(kind, UnitStatistic), "a policy's value is not yet a statistic"
    return replace(kind, substitute=None).quantise(Raw(value))


def within_faults(form: ParametersForm, kind: Kind | None) -> Iterator[tuple[str, str]]:
    """Yield the members of `protection` that rule out steps with several readings, and why.

    ``kind`` is None if `value` has faults.
    """
    protection, value = form.protection, form.value
    given = "absent" in protection.model_fields_set
    if protection.unit is not None:
        if protection.within not in {None, "last"} and not isinstance(value, NumberForm):
            yield "protection.within", f"{protection.within} needs numbers, but found kind {value.kind}; use last"
        return
    if protection.within is None:
        for member, there in (("open_steps", protection.open_steps is not None), ("absent", given)):
            if there:
                yield (
                    f"protection.{member}",
                    ("only for steps with several readings; add protection.within, or remove it"),
                )
        return
    if protection.open_steps is None:
        yield "protection.open_steps", "within needs the number of steps that accept readings at the same time"
    if form.collect is not None:
        yield "protection.within", "collected steps have contributions, not readings; remove one of the two"
    if protection.within != "last" and not isinstance(value, NumberForm):
        yield "protection.within", f"{protection.within} needs numbers, but found kind {value.kind}; use last"
    if given:
        yield from _absent_faults(form, kind)


def _absent_faults(form: ParametersForm, kind: Kind | None) -> Iterator[tuple[str, str]]:
    absent, value, scheme = form.protection.absent, form.value, form.scheme
    if absent == APPROXIMATED:
        if isinstance(value, CategoryForm) and APPROXIMATED in value.categories:
            yield (
                "protection.absent",
                ('"approximated" is a category here, but would not be read as that category; rename the category'),
            )
        if isinstance(scheme, KellarisForm) and scheme.dissimilarity == "private":
            yield (
                "protection.absent",
                ("a private dissimilarity has a cost at each processed step; use a value, or dissimilarity released"),
            )
    elif kind is not None and not of_one(kind).takes_substitute:
        message = (
            "a value does not hide presence if two values are not always neighbours (counts, location, number with a "
            'sensitivity below its range); use "approximated", or omit it'
        )
        yield "protection.absent", message
    elif kind is not None and _cells(kind, absent) is None:
        yield "protection.absent", 'is not a value of this kind; use a valid value, or "approximated"'
