"""Run the publishing decision on the readings of a series, with a noise key derived from a seed."""

from collections.abc import Iterator, Sequence
from hashlib import blake2b

from experiments.dataset import Reading
from stream_app.privacy import fold
from stream_app.privacy.dummies.draw import drawn_policy, named_by_series
from stream_app.privacy.fold import StepResult
from stream_app.privacy.noise.key import SECRET_BYTES, KeyRing
from stream_app.privacy.policy import Policy
from stream_app.privacy.reason import Rejection
from stream_app.privacy.state import State


def key_of(seed: int) -> KeyRing:
    """Return the noise key of a seed, in the usual form. Everybody can know this key: never publish with it."""
    secret = blake2b(seed.to_bytes(8, "big"), digest_size=SECRET_BYTES, person=b"evaluation-key").digest()
    return KeyRing("0" * 16, 0, secret)


def begun(keys: KeyRing, policy: Policy, name: str) -> tuple[Policy, State]:
    """Return the policy of a new series after its dummies are drawn, and the initial state."""
    ruling = drawn_policy(keys, named_by_series(name), policy)
    if isinstance(ruling, Rejection):
        raise TypeError(f"the dummies were rejected: {ruling.reason}")
    adopted = fold.adopt(ruling, None, None, None)
    if isinstance(adopted, Rejection):
        raise TypeError(f"the policy was rejected: {adopted.reason}")
    if policy.dummies is None:
        return ruling, adopted.state
    disguised = fold.disguise(ruling, adopted.state, policy.dummies.method, policy.dummies.charge_nano)
    if isinstance(disguised, Rejection):
        raise TypeError(f"the draw of dummies was rejected: {disguised.reason}")
    return ruling, disguised.state


def decided(keys: KeyRing, policy: Policy, name: str, readings: Sequence[Reading]) -> Iterator[StepResult]:
    """Yield the decision on each reading of a new series."""
    policy, state = begun(keys, policy, name)
    for timestamp_ms, value in readings:
        outcome = fold.step(keys, policy, state, name, timestamp_ms, value)
        if not isinstance(outcome, StepResult):
            raise TypeError(f"a reading of the data was rejected: {outcome.reason}")
        state = outcome.state
        yield outcome


def published(policy: Policy, outcome: StepResult) -> object:
    """Return the release's value, or a guess if it has none."""
    if outcome.decision == "withheld":
        return policy.kind.item.guess
    return policy.kind.publish(outcome.state.latest.estimate)
