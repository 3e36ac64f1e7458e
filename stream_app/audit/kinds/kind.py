"""What the audit must know about a value kind; mypy reports anything that a kind lacks."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from stream_app.audit.form.domains import ANY, FLAG, Domain
from stream_app.audit.form.grid import Members
from stream_app.audit.kinds.space import Space

COMMON: Mapping[str, Domain] = {"clamp": FLAG, "invalid": ANY}
"""The members of most kinds; `invalid` depends on the other members."""


@dataclass(frozen=True, slots=True)
class ValueKind(ABC):
    """A policy's `value` of one kind, with the policy's `collect`, which is empty if nothing is collected.

    Everything except `members` requires a checked `value`.
    """

    value: Members
    collect: Members

    @property
    @abstractmethod
    def members(self) -> Mapping[str, Domain]:
        """The domain of each member besides `kind`."""

    @abstractmethod
    def fault(self) -> str:
        """Return a sentence on a fault in members that each fit their domain, or "" if there is none."""

    @abstractmethod
    def holds(self, found: object) -> bool:
        """Return whether a JSON value is a value of this policy."""

    @property
    @abstractmethod
    def has_filter(self) -> bool:
        """Whether the filter level may follow the measurements of a single value or of collected counts."""

    @property
    @abstractmethod
    def are_all_neighbours(self) -> bool:
        """Whether any two values are neighbours, so that a substitute hides invalid ones."""

    @abstractmethod
    def narrower(self, former: Self, /) -> list[str]:
        """Return phrases on values that were neighbours, or valid, under the former value and are no longer."""

    @property
    @abstractmethod
    def scale(self) -> Fraction:
        """The noise scale at epsilon 1."""

    @property
    def scales(self) -> Mapping[str, Fraction]:
        """The noise scale at epsilon 1 of each part that a release gives a scale of its own; else empty."""
        return {}

    @property
    @abstractmethod
    def space(self) -> Space:
        """The values of releases."""

    @property
    def is_clamped(self) -> bool:
        """Whether estimates are clamped."""
        return bool(self.value.get("clamp", True))

    @abstractmethod
    def effect(self, scale: float, spend_nano: int, /) -> str:
        """Return a sentence on what noise of a scale does to a value."""

    def takes_substitute(self, found: object) -> bool:
        """Return whether `found` may be the member `invalid`."""
        return found == "reject" or self.holds(found)

    @property
    def substitutes(self) -> bool:
        """Whether invalid values have a substitute; for categories, "reject" cannot be a substitute."""
        return "invalid" in self.value and self.value["invalid"] != "reject"


def dropped(name: str, former: Members, latter: Members) -> list[str]:
    """Return a phrase on the items of a list that are no longer in it, or nothing."""
    known = set(latter[name])
    gone = [each for each in former[name] if each not in known]
    return [f"{name} become invalid, and this is visible, starting with {gone[0]!r}"] if gone else []
