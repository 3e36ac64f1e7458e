"""Builds the kind of a policy's `value` from its form, and says what a kind accepts."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from stream_app.privacy.kinds import Kind, OfStep, Unfiltered, UnitStatistic
from stream_app.privacy.kinds.category import CategoryForm, ChoiceForm
from stream_app.privacy.kinds.counts import CountsForm
from stream_app.privacy.kinds.form import KindFault
from stream_app.privacy.kinds.location import LocationForm
from stream_app.privacy.kinds.number import NumberForm
from stream_app.privacy.kinds.vector import VectorForm
from stream_app.privacy.values import Raw

ValueForm = Annotated[
    NumberForm | CountsForm | LocationForm | CategoryForm | VectorForm | ChoiceForm, Field(discriminator="kind")
]


def kind_of(form: ValueForm) -> OfStep | KindFault:
    """Return the kind of a policy's `value`, or its fault."""
    kind = form.declared()
    if isinstance(kind, KindFault) or isinstance(form, ChoiceForm) or form.invalid == "reject":
        return kind
    invalid = dict(form.invalid) if isinstance(form.invalid, Mapping) else form.invalid
    substitute = kind.quantise(Raw(invalid))
    if substitute is None:
        return KindFault(
            "invalid", f'the substitute is not a valid {form.kind} of this policy; use "reject" or a valid value'
        )
    return replace(kind, substitute=substitute)


def of_one(kind: Kind) -> OfStep:
    """Return the kind of the value in which neighbours differ: the value of a step or of a unit."""
    return kind.item if isinstance(kind, UnitStatistic) else kind


def takes_filter(kind: Kind) -> bool:
    """Return whether the filter `level` may follow measurements; other kinds are published as measured."""
    return not isinstance(kind, Unfiltered)


def substitute_fault(kind: Kind) -> KindFault | None:
    """Return why a policy with this kind's substitute may not be adopted, or None if it may.

    Older policies may have such a substitute.
    """
    kind = of_one(kind)
    if kind.substitute is None or kind.takes_substitute:
        return None
    message = (
        "a substitute does not hide validity if two values are not always neighbours (counts, location, number with a "
        'sensitivity below its range): releases would distinguish it from valid values; use "reject", which shows '
        "validity"
    )
    return KindFault("invalid", message)
