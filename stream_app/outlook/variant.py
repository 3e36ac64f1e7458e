"""The schemes to compare for a policy: those that its level admits, each at both ends where it follows the data."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from stream_app.privacy.policy import SCHEMES, Policy, PolicyError, policy_of

REGULAR_SHARES = (0.25, 0.5, 0.75)
"""Of Balanced, beside the policy's own: a larger one lowers the error of regular steps and raises temporal loss."""
FIXED = {"increase": 0.0, "decrease": 0.0}
"""A sampling rate that stays what it is."""


class Variant(NamedTuple):
    """A scheme, or one end of it."""

    scheme: Mapping[str, Any]
    """The member of that name, as a policy record would have it."""
    end: str
    """What is assumed of the data; empty where the scheme does not look at them."""
    ran: Mapping[str, Any]
    """The scheme that behaves like this end all the time."""
    rate: float | None
    """The sampling rate after the first event; None: as the scheme has it."""
    moving: bool
    """Whether values jump."""
    tosses: bool
    """Whether coins decide what is published."""
    own: bool
    """Whether the policy names this scheme so."""

    @property
    def label(self) -> str:
        """Return how tables name it."""
        share = self.scheme.get("regular_share")
        parts = [str(self.scheme["name"]), *([] if share is None else [f"{share:g}"])]
        return " ".join(parts) + (f", {self.end}" if self.end else "")


def variants(policy: Policy) -> tuple[Variant, ...]:
    """Return what to compare, in the order of the level's schemes."""
    own: Mapping[str, Any] = policy.parameters["scheme"]  # type: ignore[assignment] # an object, or no policy
    level: Any = policy.parameters["protection"]
    return tuple(
        variant
        for name in SCHEMES[level["level"]]
        for variant in _ends(name, own)
        if _admitted(policy.parameters, variant)
    )


def _ends(name: str, own: Mapping[str, Any]) -> Iterator[Variant]:
    is_own = own["name"] == name
    scheme = own if is_own else {"name": name}
    match name:
        case "adaptive" | "bd" | "ba" if scheme.get("dissimilarity") == "private":
            yield Variant(scheme, "data that jump", scheme, None, moving=True, tosses=True, own=is_own)
            yield Variant(scheme, "data at rest", scheme, None, moving=False, tosses=True, own=is_own)
        case "adaptive" | "bd" | "ba":
            least, fixed = float(scheme.get("minimum", 0.1)), {**scheme, **FIXED}
            yield Variant(scheme, "rate 1", fixed, None, moving=False, tosses=False, own=is_own)
            yield Variant(scheme, f"rate {least:g}", fixed, least, moving=False, tosses=True, own=is_own)
        case "balanced":
            share = own.get("regular_share", 0.5) if is_own else None
            for each in sorted({*REGULAR_SHARES, *([] if share is None else [share])}):
                of_share = {"name": name, "regular_share": each}
                yield Variant(of_share, "", of_share, None, moving=False, tosses=False, own=each == share)
        case "skip" if not is_own:
            return  # it shows where the landmarks are: for those alone who ask for it
        case _:
            yield Variant(scheme, "", scheme, None, moving=False, tosses=False, own=is_own)


def _admitted(parameters: Mapping[str, object], variant: Variant) -> bool:
    try:
        policy_of({**parameters, "scheme": variant.ran}, 1)
    except PolicyError:
        return False
    return True
