"""What is planned for: the policy over its horizon, the schemes to compare, and the courses that each of them takes."""

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
"""Of Balanced, beside the policy's own: a larger one lowers the error of regular steps and raises temporal loss."""
ALL = 1
"""The regular share that publishes no landmark: it leads where there are any, since what is left can be read."""
FIXED = {"increase": 0.0, "decrease": 0.0}  # a sampling rate that stays what it is
DRAWS = 20  # courses over which coins are averaged, for as long as they are short
MOST_DRAWN = 100_000  # events over all courses of one variant, but for one whole course


class Variant(NamedTuple):
    """A scheme; of one that follows the data, one end of how the data may be."""

    scheme: Mapping[str, Any]  # the member of that name, as a policy record would have it
    end: str  # what is assumed of the data; empty where the scheme does not look at them
    ran: Mapping[str, Any]  # the scheme that behaves like this end all the time
    rate: float | None  # the sampling rate after the first event; None: as the scheme has it
    moving: bool  # whether values jump
    tosses: bool  # whether coins decide what is published
    own: bool  # whether the policy names this scheme so

    @property
    def leaves_out(self) -> bool:
        """Whether it is Balanced that publishes no landmark, which others are compared with by name."""
        return self.scheme.get("regular_share") == ALL

    @property
    def label(self) -> str:
        """Return the name of the variant in tables."""
        share = self.scheme.get("regular_share")
        parts = [str(self.scheme["name"]), *([] if share is None else [f"{share:g}"])]
        return " ".join(parts) + (f", {self.end}" if self.end else "")


def variants(policy: Policy) -> tuple[Variant, ...]:
    """Return what to compare: Balanced with the largest share first, then the level's other schemes in their order."""
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
            return  # it shows where the landmarks are: for those alone who ask for it
        case _:
            yield Variant(scheme, "", scheme, None, moving=False, tosses=False, own=is_own)


def _admitted(parameters: Mapping[str, object], variant: Variant) -> bool:
    try:
        policy_of({**parameters, "scheme": variant.ran}, 1)
    except PolicyError:
        return False
    return True


class PlanRequest(NamedTuple):
    """A policy to plan for, and for whom."""

    policy: Policy
    horizon: Horizon
    adversary: Adversary | None
    bound: float | None  # of temporal loss; nothing comes of it without an adversary
    error: Fraction | None = None  # that a ward is to be large enough for

    @property
    def parameters(self) -> Mapping[str, object]:
        """Return the policy's parameters; who plans knows the true landmarks, which a policy with dummies hides."""
        policy = self.policy
        if policy.dummies is None:
            return policy.parameters
        asked = drawn(policy.parameters, policy.dummies.landmarks, policy.grid)
        return {**asked, "dummies": policy.parameters["dummies"]}

    @property
    def gap(self) -> int:
        """Return the steps from one event to the next, rounded down: over more of them more would fade."""
        return self.horizon.every_ms // self.policy.step_ms


def courses_of(
    parameters: Mapping[str, object], variant: Variant, horizon: Horizon, watch: Watch
) -> list[tuple[Spend, ...]]:
    """Return the courses of a variant: several where coins decide, one where nothing is left to chance."""
    ran = {**parameters, "scheme": variant.ran}
    numbers = range(draws(variant, horizon.events))
    course = Course(ran, horizon, variant.rate, moving=variant.moving)
    return [course.run(f"outlook-{number}", watch) for number in numbers]


def draws(variant: Variant, events: int) -> int:
    """Return how many courses a variant has."""
    return max(1, min(DRAWS, MOST_DRAWN // events)) if variant.tosses else 1


def epsilons_of(spends: Sequence[Spend]) -> tuple[float, ...]:
    """Return what each step costs, 0 where nothing is published and no decision paid for."""
    return tuple(spend.cost_nano / NANO for spend in spends)
