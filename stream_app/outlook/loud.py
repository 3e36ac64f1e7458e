"""Landmark noise that is wider than the values' range, so that a release reveals almost nothing."""

from typing import NamedTuple

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
    """Return the noise at landmarks if its scale exceeds the values' range, else None.

    The noise is that of the share proposed for the first landmark. The result is also None for hidden (drawn)
    landmarks, for units, and for policies that publish no landmarks. Counts and categories have no range: a count has
    no upper limit, and a category is true or false at any noise. Collected data are judged by their number of
    contributors (`plan --error`).
    """
    protection = policy.protection
    # PRIVACY: the number of landmarks is a secret under dummies, and the noise would show it.
    if policy.dummies is not None or policy.units is not None or not isinstance(protection, LandmarkLevel):
        return None
    landmarks = len(policy.landmarks) + policy.spare
    share_nano = propose(policy.scheme, policy.epsilon_nano, 0, 0, landmarks, landmark=True)
    kind = policy.kind
    if not share_nano or kind.span is None or policy.collect is not None:
        return None
    assert kind.excess, "a kind with a range says how its noise exceeds it"
    scale, span = kind.expected_scale(share_nano), kind.span
    words = kind.excess.format(scale=four_digits(scale), span=four_digits(span))
    return Loud(scale, span, words) if scale > span else None
