"""Noise keys: a one-way ratchet over epochs of event time.

``k[e+1] = KDF(k[e])``: anyone who seizes a later key cannot compute earlier keys, so the noise of erased epochs cannot
be drawn again. Source of the construction: forward-secret key evolution (Bellare and Yee, Forward-security in
private-key cryptography, 2003).
"""

from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b

from stream_app.privacy.amounts import Flag, Whole

SECRET_BYTES = 32
SEALING_BYTES = 64
"""Length of an AES-SIV key: two AES-256 keys."""
MINIMUM_EPOCH_MS = 86_400_000
"""One day: with shorter epochs, the ratchet to an event in the year 9999 would take minutes."""

MILESTONE_STEPS = 16_384
"""The number of epochs between two keys that are kept in memory on the way to a distant epoch."""


@lru_cache(maxsize=256)
def _ratchet(secret: bytes, steps: int) -> bytes:
    """Return ``secret`` advanced by ``steps`` epochs."""
    return _turned(_milestone(secret, steps // MILESTONE_STEPS), steps % MILESTONE_STEPS)


@lru_cache(maxsize=256)
def _milestone(secret: bytes, number: int) -> bytes:
    """Return ``secret`` advanced to a milestone.

    The result is cached, so only the first far-future event takes seconds.
    """
    return _turned(_milestone(secret, number - 1), MILESTONE_STEPS) if number else secret


def _turned(secret: bytes, steps: int) -> bytes:
    for _ in range(steps):
        secret = blake2b(key=secret, digest_size=SECRET_BYTES, person=b"landmark-ratchet").digest()
    return secret


@lru_cache(maxsize=256)
def _sealing(secret: bytes) -> bytes:
    return blake2b(key=secret, digest_size=SEALING_BYTES, person=b"landmark-units").digest()


@dataclass(frozen=True, slots=True)
class KeyRing:
    """The key of ``first_epoch``, from which the keys of all later epochs are derived.

    If ``epoch_ms`` is None, one epoch covers all time.
    """

    fingerprint: str
    first_epoch: int
    secret: bytes = field(repr=False)
    epoch_ms: int | None = None

    def epoch_of(self, timestamp_ms: Whole) -> Whole:
        """Return the epoch of an event at ``timestamp_ms``."""
        return timestamp_ms // self.epoch_ms if self.epoch_ms else 0 * timestamp_ms

    def erased(self, epoch: Whole) -> Flag:
        """Return whether the epoch's key was erased."""
        return epoch < self.first_epoch

    def secret_of(self, epoch: int) -> bytes | None:
        """Return the epoch's key, or None if it was erased."""
        if self.erased(epoch):
            return None
        return _ratchet(self.secret, epoch - self.first_epoch) if epoch > self.first_epoch else self.secret

    def sealing_of(self, epoch: int) -> bytes | None:
        """Return the key that seals the rows of an epoch's open steps, or None if the epoch's key was erased.

        Guarantee: the noise reveals nothing about this key, nor the key about the noise, because keyed BLAKE2b is
        pseudo-random.
        """
        secret = self.secret_of(epoch)
        return None if secret is None else _sealing(secret)

    def erased_before(self, epoch: int) -> "KeyRing | None":
        """Return the ring without the keys of epochs before ``epoch``, or None if that epoch's own key was erased.

        Guarantee: no key of an earlier epoch can be computed from the result, because keyed BLAKE2b is one-way.
        """
        secret = self.secret_of(epoch)
        return None if secret is None else KeyRing(self.fingerprint, epoch, secret, self.epoch_ms)

    def derived(self, digest: bytes) -> "KeyRing":
        """Return the ring derived from ``digest``; no two digests share a ring.

        Guarantee: anyone who knows the rings derived from other digests knows nothing about this ring, because keyed
        BLAKE2b is pseudo-random.
        """
        secret = blake2b(digest, key=self.secret, digest_size=SECRET_BYTES, person=b"landmark-derive").digest()
        named = blake2b(digest, key=self.secret, digest_size=len(self.fingerprint) // 2, person=b"landmark-named")
        return KeyRing(named.hexdigest(), self.first_epoch, secret, self.epoch_ms)

    def mixed(self, seed: bytes) -> bytes:
        """Return a seed derived from the seed of a watermark or an intrusion; every ring derives a different one."""
        return blake2b(seed, key=self.secret, digest_size=SECRET_BYTES, person=b"landmark-seed").digest()
