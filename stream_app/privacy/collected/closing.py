"""Steps of collected data: the noise that raw counters start with, and the release of a step that closes.

Pan-privacy (Dwork, Naor, Pitassi, Rothblum, Yekhanin, Pan-private streaming algorithms, 2010): with ``intrusion_nano``
counters never stand bare in memory. They start with discrete Laplace noise of rate ``intrusion / sensitivity``, whose
seed came with the opening watermark and is forgotten. Who sees the memory at announced moments, and all releases,
learns of one item at an exposed step at most ``max(intrusion, epsilon)``, epsilon what the step's release spends: the
counts before a look stand behind the noise before it, those after it behind the fresh noise, the last ones behind the
closing noise, and one item changes one of these parts. Where neighbours change an item's place in the log as well, each
part changes by half the sensitivity, and the two halves add up to no more.
"""

from stream_app.privacy.fold import Stepped, publish
from stream_app.privacy.kinds import Counts
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.noise.laplace import discrete_laplace
from stream_app.privacy.noise.streams import start_stream
from stream_app.privacy.policy import Policy
from stream_app.privacy.rational import NANO
from stream_app.privacy.raw import RawCells
from stream_app.privacy.state import State


def start_noise(seed: bytes, policy: Policy, series: str, index: int, looks: int) -> tuple[int, ...]:
    """Return what to add to each counter of step ``index``: at its start, or after the ``looks``-th intrusion.

    Zeros without `intrusion_nano`. Guarantee: a look at the counters afterwards tells of one item, contributed after
    it, at most ``intrusion_nano`` (discrete Laplace mechanism at L1 sensitivity ``policy.kind.sensitivity``).
    """
    collect, kind = policy.collect, policy.kind
    assert collect is not None, "only collected data have counters"
    assert isinstance(kind, Counts), "collected data are counts"
    if collect.intrusion_nano is None:
        return (0,) * kind.width
    stream = start_stream(seed, policy, series, index * policy.step_ms, collect.intrusion_nano, looks)
    denominator = kind.sensitivity * NANO
    return tuple(discrete_laplace(stream, collect.intrusion_nano, denominator) for _ in range(kind.width))


def close_step(
    keys: KeyRing, policy: Policy, state: State, series: str, index: int, cells: RawCells, seed: bytes
) -> Stepped | None:
    """Decide a step by what its counters hold; ``seed`` is the closing watermark's.

    None: the key of its epoch was erased, and the step is passed over. The counters are read if it is perturbed alone.
    Guarantee: that of `fold.step`, and against who saw the counters that of this file.
    """
    assert policy.collect is not None, "only collected data close steps"
    epoch = keys.epoch_of(index * policy.step_ms)
    secret = keys.secret_of(epoch)
    if secret is None:
        return None
    pan_private = policy.collect.intrusion_nano is not None
    return publish(policy, state, series, index, secret, epoch, cells, seed if pan_private else None)
