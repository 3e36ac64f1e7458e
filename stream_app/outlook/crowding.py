"""How the noise grows with the number of landmarks: the same policy over landmarks that are made up, more and more."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from stream_app.outlook.course import Watch
from stream_app.outlook.horizon import Horizon
from stream_app.outlook.outlook import Outlook, events_of, outlooks
from stream_app.outlook.question import Question
from stream_app.privacy.policy import Policy, policy_of
from stream_app.privacy.protection import LandmarkLevel

COUNTS: Final = (1, 2, 5, 10, 20, 50, 100)
"""Landmarks that are tried, one step after the other, with a regular step before and one after them."""


class Crowd(NamedTuple):
    """What a number of landmarks comes to."""

    landmarks: int
    outlooks: tuple[Outlook, ...]
    """Of every scheme, as for the policy itself."""


def crowds(policy: Policy, watch: Watch) -> Iterator[Crowd]:
    """Yield what each number of landmarks comes to; nothing for a level without landmarks, or hidden ones."""
    for question in _questions(policy):
        yield Crowd(question.horizon.events - 2, tuple(outlooks(question, watch)))


def crowd_events(policy: Policy) -> int:
    """Return how many events `crowds` decides, for a progress bar."""
    return sum(events_of(question) for question in _questions(policy))


def _questions(policy: Policy) -> Iterator[Question]:
    if not isinstance(policy.protection, LandmarkLevel) or policy.dummies is not None:
        return
    protection: object = policy.parameters["protection"]
    assert isinstance(protection, dict), "a policy's parameters have the form of its record"
    step_ms = policy.step_ms
    for count in COUNTS:
        spread = {**protection, "landmarks": [[step_ms, (count + 1) * step_ms]]}
        crowded = policy_of({**policy.parameters, "protection": spread}, 1)
        yield Question(crowded, Horizon(0, step_ms, count + 2), None, None)
