"""Landmark noise that is wider than the values' range, so that a release reveals almost nothing."""

from typing import NamedTuple

from stream_app.outlook.error import expected_scale
from stream_app.privacy.kinds import Location, Number, Vector
from stream_app.privacy.policy import Policy
from stream_app.privacy.protection import LandmarkLevel
from stream_app.privacy.scheme import propose
from stream_app.words.amount import four_digits


class Loud(NamedTuple):
    """The scale of the noise at the first published landmark, the range, and both in words."""

    scale: float
    range: float
    words: str

    @property
    def sentence(self) -> str:
        """Return a sentence with the noise, the remedy and its price."""
        return (
            f'the noise at a landmark has a scale of {self.words}. With {{"name":"balanced","regular_share":1}} '
            "landmarks are not published, and the other steps get all of epsilon. The price is a larger temporal "
            "loss."
        )


def loud(policy: Policy) -> Loud | None:
    """Return how far the noise at landmarks exceeds the range; None if it does not or there are no landmarks.

    The noise is that of the share proposed for the first landmark. Counts and categories have no range: a count has no
    upper limit, and a category is true or false at any noise. Collected data are judged by their number of contributors
    (`plan --error`).
    """
    protection = policy.protection
    # PRIVACY: the number of landmarks is a secret under dummies, and the noise would show it.
    if policy.dummies is not None or policy.units is not None or not isinstance(protection, LandmarkLevel):
        return None
    landmarks = len(policy.landmarks) + policy.spare
    share_nano = propose(policy.scheme, policy.epsilon_nano, 0, 0, landmarks, landmark=True)
    found = _beside(policy, share_nano) if share_nano else None
    return found if found is not None and found.scale > found.range else None


def _beside(policy: Policy, share_nano: int) -> Loud | None:
    """Return the noise of a share and the range; None if the kind has no range."""
    match policy.kind:
        case Number(axis=axis):
            scale, width = expected_scale(policy, share_nano), axis.double(axis.high) - axis.double(axis.low)
            return Loud(scale, width, f"{four_digits(scale)}, which exceeds the range of {four_digits(width)}")
        case Vector():
            scale = expected_scale(policy, share_nano)
            return Loud(scale, 1.0, f"{four_digits(scale)} times the range of each part")
        case Location(east=east, north=north) as kind:
            low, high = ({"latitude": north[nth], "longitude": east[nth]} for nth in (0, 1))
            scale, width = expected_scale(policy, share_nano), kind.error(low, high)
            return Loud(
                scale, width, f"{four_digits(scale)} m, which exceeds the {four_digits(width)} m across the bounds"
            )
        case _:
            return None
