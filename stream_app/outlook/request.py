"""What to plan for: the policy over its horizon, the schemes to compare, and the courses of each."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from stream_app.loss.temporal import Adversary
from stream_app.outlook.course import Course, Horizon, Spend, Watch
from stream_app.privacy.dummies.request import drawn
from stream_app.privacy.policy import Policy, PolicyError, policy_of
from stream_app.privacy.scheme import SCHEMES
from stream_app.privacy.values import NANO

REGULAR_SHARES = (0.75, 0.5, 0.25)
"""Shares of Balanced to compare with the policy's own share.

A larger share means less error at regular steps and more temporal loss.
"""
ALL = 1
"""The regular share at which no landmark is published.

At level `landmark`, it is listed first, because the remaining releases are readable.
"""
FIXED = {"increase": 0.0, "decrease": 0.0}  # keeps a sampling rate as it is
DRAWS = 20  # courses over which coins are averaged, while courses are short
MOST_DRAWN = 100_000  # limit of events over all courses of a variant, except one course


class Variant(NamedTuple):
    """A scheme or, if it follows the data, that scheme at one extreme of the data."""

    scheme: Mapping[str, Any]  # the `scheme` member as in a policy record
    end: str  # what is assumed of the data; empty if the scheme ignores them
    ran: Mapping[str, Any]  # the scheme that always behaves like this extreme
    rate: float | None  # the sampling rate after the first event; None: the scheme's own
    moving: bool  # whether values jump
    tosses: bool  # whether coins decide what is published
    own: bool  # whether it is the policy's own scheme

    @property
    def leaves_out(self) -> bool:
        """Whether this is Balanced without published landmarks; other variants are compared with it by name."""
        return self.scheme.get("regular_share") == ALL

    @property
    def label(self) -> str:
        """Return the name of the variant in tables."""
        share = self.scheme.get("regular_share")
        parts = [str(self.scheme["name"]), *([] if share is None else [f"{share:g}"])]
        return " ".join(parts) + (f", {self.end}" if self.end else "")


def variants(policy: Policy) -> tuple[Variant, ...]:
    """Return the variants to compare: Balanced by descending share, then the level's other schemes in order."""
    own: Mapping[str, Any] = policy.parameters["scheme"]  # type: ignore[assignment] # an object, or no policy
    protection: Any = policy.parameters["protection"]
    shares = (ALL, *REGULAR_SHARES) if protection["level"] == "landmark" else REGULAR_SHARES
    return tuple(
        variant
        for name in sorted(SCHEMES[protection["level"]], key=lambda name: name != "balanced")
        for variant in _ends(name, own, shares)
        if _admitted(policy.parameters, variant)
    )


def _ends(name: str, own: Mapping[str, Any], shares: tuple[float, ...]) -> Iterator[Variant]:
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
            for each in sorted({*shares, *([] if share is None else [share])}, reverse=True):
                of_share = {"name": name, "regular_share": each}
                yield Variant(of_share, "", of_share, None, moving=False, tosses=False, own=each == share)
        case "skip" if not is_own:
            return  # it reveals where landmarks are: only for those who ask for it
        case _:
            yield Variant(scheme, "", scheme, None, moving=False, tosses=False, own=is_own)


def _admitted(parameters: Mapping[str, object], variant: Variant) -> bool:
    try:
        policy_of({**parameters, "scheme": variant.ran}, 1)
    except PolicyError:
        return False
    return True


class PlanRequest(NamedTuple):
    """A policy to plan for, and its adversary."""

    policy: Policy
    horizon: Horizon
    adversary: Adversary | None
    bound: float | None  # of temporal loss; unused without an adversary
    error: Fraction | None = None  # that a ward must be large enough for

    @property
    def parameters(self) -> Mapping[str, object]:
        """Return the policy's parameters with the true landmarks, which the planner knows but dummies hide."""
        policy = self.policy
        if policy.dummies is None:
            return policy.parameters
        asked = drawn(policy.parameters, policy.dummies.landmarks, policy.grid)
        return {**asked, "dummies": policy.parameters["dummies"]}

    @property
    def gap(self) -> int:
        """Return the number of steps between events, rounded down because loss fades more over more steps."""
        return self.horizon.every_ms // self.policy.step_ms


def courses_of(
    parameters: Mapping[str, object], variant: Variant, horizon: Horizon, watch: Watch
) -> list[tuple[Spend, ...]]:
    """Return the courses of a variant: several if coins decide, one if nothing is left to chance."""
    ran = {**parameters, "scheme": variant.ran}
    numbers = range(draws(variant, horizon.events))
    course = Course(ran, horizon, variant.rate, moving=variant.moving)
    return [course.run(f"outlook-{number}", watch) for number in numbers]


def draws(variant: Variant, events: int) -> int:
    """Return how many courses a variant has."""
    return max(1, min(DRAWS, MOST_DRAWN // events)) if variant.tosses else 1


def epsilons_of(spends: Sequence[Spend]) -> tuple[float, ...]:
    """Return what each step costs: 0 if nothing is published and no decision is paid for."""
    return tuple(spend.cost_nano / NANO for spend in spends)
