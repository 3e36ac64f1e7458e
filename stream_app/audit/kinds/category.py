"""One answer out of a few: a category, or the item that the most contributors chose."""

from dataclasses import dataclass
from fractions import Fraction
from math import exp
from typing import ClassVar, Self, final

from stream_app.audit.form.domains import OF_UNITS, is_text, listed, needed
from stream_app.audit.kinds.kind import COMMON, ValueKind, dropped
from stream_app.audit.kinds.space import Count, Measured, Space
from stream_app.words.amount import NANO


@dataclass(frozen=True, slots=True)
class Answers(Space):
    """One of the listed texts or flags."""

    answers: tuple[str | bool, ...]

    def estimate(self, published: object, _count: Count, *, clamps: bool) -> str | bool | None:  # noqa: ARG002 - every answer is valid
        """Return the answer; all answers are valid, so none is clamped."""
        return published if isinstance(published, str | bool) and published in self.answers else None

    def still(self, former: Measured, latter: Measured, scale: Fraction) -> bool:
        """Return whether the scale exceeds the distance, which is 0 for equal answers and 1 for others."""
        # Compare the texts, because 1 and true are equal in Python.
        return scale > int(repr(former[0]) != repr(latter[0]))


class _OneAnswer(ValueKind):
    """A kind whose values are the answers in one of its members."""

    __slots__ = ()

    listed_in: ClassVar[str]
    """The name of that member."""

    def holds(self, found: object) -> bool:
        """Return whether this is one of the answers."""
        return isinstance(found, str | bool) and found in self.value[self.listed_in]

    def narrower(self, former: Self) -> list[str]:
        """Return a phrase if an answer is gone and no substitute hides this."""
        return [] if self.substitutes else dropped(self.listed_in, former.value, self.value)

    @property
    def scale(self) -> Fraction:
        """1, which is compared with a change of 0 or 1."""
        return Fraction(1)

    @property
    def space(self) -> Space:
        """The answers."""
        return Answers(tuple(self.value[self.listed_in]))


@final
class Category(_OneAnswer):
    """The kind category."""

    __slots__ = ()

    listed_in: ClassVar = "categories"
    members: ClassVar = {
        "categories": needed(
            listed(
                lambda found: is_text(found) or isinstance(found, bool), 2, "strings of 1 to 200 characters or flags"
            )
        ),
        **COMMON,
        "statistic": OF_UNITS["statistic"],
    }
    has_filter: ClassVar = True
    are_all_neighbours: ClassVar = True

    def fault(self) -> str:
        """Return "": no rule combines the members."""
        return ""

    def takes_substitute(self, found: object) -> bool:
        """Return whether `found` may be the member `invalid`."""
        # a category "reject" would be a value and reject nothing
        return self.holds(found) is not (found == "reject")

    def effect(self, _scale: float, spend_nano: int) -> str:
        """Return the probability of the truth."""
        # exp(e) / (exp(e) + k - 1), from Kairouz et al. (2016), in a form that does not overflow for any epsilon
        chance = 1 / (1 + (len(self.value["categories"]) - 1) * exp(-spend_nano / NANO))
        return (
            f"It is the true category with a probability of {100 * chance:.3g} %, and otherwise any of the other "
            "categories."
        )


@final
class Choice(_OneAnswer):
    """The kind choice, which is always collected."""

    __slots__ = ()

    listed_in: ClassVar = "items"
    members: ClassVar = {"items": needed(listed(is_text, 2, "strings of 1 to 200 characters"))}
    has_filter: ClassVar = False
    are_all_neighbours: ClassVar = False

    def fault(self) -> str:
        """Return "": there is only one member."""
        return ""

    def effect(self, _scale: float, spend_nano: int) -> str:
        """Return by how much fewer contributors make an item less likely."""
        fewer = (2 if self.collect["neighbours"] == "replace" else 1) * NANO / spend_nano
        return f"An item chosen by {fewer:.4g} fewer contributors is e (2.72) times less likely to be drawn."
