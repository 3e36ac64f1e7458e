"""Sealed rows: AES-SIV as in RFC 5297, bound to their place, of one length, under a separate key."""

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from hypothesis import given
from hypothesis import strategies as st

from stream_app.deciding.units.sealed import BLOCK_BYTES, SEALED_BYTES, LostUnitsError, Place, opened, sealed
from stream_app.privacy.noise.key import KeyRing
from tests.run import KEYS

SECRET = KEYS.sealing_of(0) or b""
PLACE = Place(b"sugar-1", 7, 3, 288)
TOPIC = "7Qx0AAAAAAAAAAAAAAAAAA"


def test_aes_siv_is_that_of_the_standard() -> None:
    """As in RFC 5297, A.1, anyone who follows the standard seals to the same bytes."""
    key = bytes.fromhex("fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
    data = bytes.fromhex("101112131415161718191a1b1c1d1e1f2021222324252627")
    text = AESSIV(key).encrypt(bytes.fromhex("112233445566778899aabbccddee"), [data])
    assert text.hex() == "85632d07c6e8f37f950acd320a2ecc9340c02b9690c4dc04daef7f6afe5c"


def test_a_row_is_sealed_as_written_down_again() -> None:
    """Offset and version are plain; the associated data name topic, offset, series, version and first unit."""
    units = bytes(range(256))
    parts = [12, 3, 288, len(TOPIC), len(b"sugar-1")]
    data = b"".join(part.to_bytes(8, "big") for part in parts) + TOPIC.encode() + b"sugar-1"
    text = AESSIV(SECRET).encrypt(units, [data])
    assert sealed(SECRET, TOPIC, PLACE, 12, units) == bytes(7) + b"\x0c" + bytes(7) + b"\x03" + text
    assert PLACE.row_key == b"usugar-1\0" + bytes(7) + b"\x07"


@given(units=st.binary(min_size=BLOCK_BYTES, max_size=BLOCK_BYTES), offset=st.integers(0, 2**63 - 1))
def test_a_row_is_as_long_whatever_it_holds(units: bytes, offset: int) -> None:
    """It opens to what was sealed, and its length tells nothing."""
    row = sealed(SECRET, TOPIC, PLACE, offset, units)
    assert len(row) == SEALED_BYTES == 288
    assert opened(SECRET, TOPIC, PLACE, row) == (offset, bytearray(units))


OTHERS = [PLACE._replace(key=b"sugar-2"), PLACE._replace(version=4), PLACE._replace(first_unit=304)]


@pytest.mark.parametrize("place", OTHERS)
def test_a_row_opens_in_its_own_place_alone(place: Place) -> None:
    """In another place, or with another version, topic or key, it is refused."""
    row = sealed(SECRET, TOPIC, PLACE, 12, bytes(BLOCK_BYTES))
    with pytest.raises(LostUnitsError):
        opened(SECRET, TOPIC, place, row)
    with pytest.raises(LostUnitsError):
        opened(SECRET, TOPIC, PLACE, sealed(SECRET, TOPIC, place, 12, bytes(BLOCK_BYTES)))


def test_another_topic_key_or_byte_does_not_open() -> None:
    """Each bit matters, including the plain offset."""
    row = sealed(SECRET, TOPIC, PLACE, 12, bytes(BLOCK_BYTES))
    for wrong in (row[:-1], row + b"\0", b"", *(row[:at] + bytes([row[at] ^ 1]) + row[at + 1 :] for at in range(288))):
        with pytest.raises(LostUnitsError):
            opened(SECRET, TOPIC, PLACE, wrong)
    with pytest.raises(LostUnitsError):
        opened(SECRET, "another", PLACE, row)
    with pytest.raises(LostUnitsError):
        opened(bytes(64), TOPIC, PLACE, row)


def test_each_epoch_seals_under_another_key() -> None:
    """The key is never used to draw noise, and is erased together with its epoch's key."""
    ring = KeyRing(KEYS.fingerprint, 0, KEYS.secret, 86_400_000)
    keys = [ring.sealing_of(epoch) for epoch in range(3)]
    assert len({*keys, ring.secret, ring.secret_of(1)}) == 5
    later = ring.erased_before(2)
    assert later is not None
    assert [later.sealing_of(epoch) for epoch in range(3)] == [None, None, keys[2]]
