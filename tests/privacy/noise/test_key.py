"""The ratchet of noise keys."""

from hashlib import blake2b

import pytest

from stream_app.privacy.noise.key import KeyRing

DAY = 86_400_000
RING = KeyRing("0123456789abcdef", 0, bytes(range(32)), DAY)


def test_an_epoch_is_a_span_of_event_time() -> None:
    """Epochs follow event time; without a length there is one epoch for all time."""
    assert [RING.epoch_of(ms) for ms in (0, DAY - 1, DAY, 10 * DAY)] == [0, 0, 1, 10]
    assert KeyRing("", 0, bytes(32)).epoch_of(10**14) == 0


def test_the_ratchet_is_a_chain_of_hashes() -> None:
    """The key of an epoch is a keyed hash of the previous key, starting from the first."""
    secret = RING.secret
    for epoch in range(40):
        assert RING.secret_of(epoch) == secret
        secret = blake2b(key=secret, digest_size=32, person=b"landmark-ratchet").digest()


def test_a_later_ring_agrees_and_cannot_go_back() -> None:
    """A ring that starts later gives the same keys from its start on, and none before."""
    secret = RING.secret_of(5)
    assert secret is not None
    later = KeyRing(RING.fingerprint, 5, secret, DAY)
    assert [later.secret_of(epoch) for epoch in (5, 6, 40)] == [RING.secret_of(epoch) for epoch in (5, 6, 40)]
    assert [later.secret_of(epoch) for epoch in range(5)] == [None] * 5


def test_an_erased_ring_has_no_way_back() -> None:
    """It agrees from its first epoch on, gives none before, and retains nothing of the ring it came from."""
    erased = RING.erased_before(5)
    assert erased is not None
    assert [erased.secret_of(epoch) for epoch in range(5, 45)] == [RING.secret_of(epoch) for epoch in range(5, 45)]
    assert [erased.secret_of(epoch) for epoch in range(5)] == [None] * 5
    assert (erased.fingerprint, erased.first_epoch, erased.epoch_ms) == (RING.fingerprint, 5, DAY)
    assert [erased.erased_before(epoch) for epoch in range(5)] == [None] * 5
    assert erased.erased_before(5) == erased
    held = [getattr(erased, name) for name in KeyRing.__slots__]
    assert not [secret for secret in map(RING.secret_of, range(5)) if secret in held]


def test_secrets_are_not_shown() -> None:
    """The repr of a ring, as in a traceback, holds no secret."""
    with pytest.raises(AttributeError):
        RING.secret = b""  # type: ignore[misc]
    assert "secret" not in repr(RING)
    assert repr(RING.secret) not in repr(RING)
