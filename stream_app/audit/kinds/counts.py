"""Counts by key: of one reading, or of contributors' items."""

from dataclasses import dataclass
from fractions import Fraction
from math import sinh
from typing import ClassVar, Final, Self, final

from stream_app.audit.form.domains import is_text, listed, needed, whole
from stream_app.audit.form.entry import MAX_SEQUENCE
from stream_app.audit.kinds.kind import COMMON, ValueKind, dropped
from stream_app.audit.kinds.space import Count, Measured, Space, counts_moved, part_of

_COUNT: Final = whole(0, MAX_SEQUENCE)
_LARGE: Final = 700.0  # its sinh is close to the largest double


@dataclass(frozen=True, slots=True)
class CountsByKey(Space):
    """A whole number for each key, in the order of the keys."""

    keys: tuple[str, ...]

    def estimate(self, published: object, _count: Count, *, clamps: bool) -> dict[str, int] | None:
        """Return the counts, at least 0 if clamped."""
        if not isinstance(published, dict) or tuple(published) != self.keys:
            return None
        counts = counts_moved(len(self.keys), list(published.values()), clamps=clamps)
        return None if counts is None else dict(zip(self.keys, counts, strict=True))

    def still(self, former: Measured, latter: Measured, scale: Fraction) -> bool:
        """Return whether the scales of all counts together exceed the L1 distance of the counts."""
        counted: int = sum(abs(part_of(latter[0], key) - part_of(former[0], key)) for key in self.keys)
        return len(self.keys) * scale > counted


@final
class Counts(ValueKind):
    """The kind counts."""

    __slots__ = ()

    members: ClassVar = {
        "keys": needed(listed(is_text, 1, "strings of 1 to 200 characters")),
        "sensitivity": whole(1, MAX_SEQUENCE),
        **COMMON,
    }
    has_filter: ClassVar = True
    are_all_neighbours: ClassVar = False

    def fault(self) -> str:
        """Return "": no rule combines the members."""
        return ""

    def holds(self, found: object) -> bool:
        """Return whether this is an object of counts of known keys."""
        return (
            isinstance(found, dict)
            and found.keys() <= set(self.value["keys"])
            and all(map(_COUNT.fits, found.values()))
        )

    @property
    def sensitivity(self) -> int:
        """The largest L1 distance between neighbouring counts: an item is moved, or is added or removed."""
        if self.collect:
            return 2 if self.collect["neighbours"] == "replace" else 1
        return int(self.value.get("sensitivity", 1))

    def narrower(self, former: Self) -> list[str]:
        """Return phrases if the sensitivity shrinks or a key is gone."""
        shrinks = ["the sensitivity of counts shrinks"] if self.sensitivity < former.sensitivity else []
        return shrinks + dropped("keys", former.value, self.value)

    @property
    def scale(self) -> Fraction:
        """The sensitivity."""
        return Fraction(self.sensitivity)

    @property
    def space(self) -> Space:
        """A count for each key."""
        return CountsByKey(tuple(self.value["keys"]))

    def effect(self, scale: float, _spend_nano: int) -> str:
        """Return the average error, or, if counters start with noise, the scale."""
        if self.collect.get("intrusion_nano"):
            return f"The scale of the noise is {scale:.4g}."
        # the mean size of discrete Laplace noise; 1 / sinh(x) of large x is 0
        return f"Each count has an average error of {1 / sinh(min(1 / scale, _LARGE)):.4g}."
