"""Sealed rows of fixed length with 16 units of an open step each; only the key of their epoch can open them.

AES-SIV (RFC 5297) needs no nonce: the associated data identify the row's place and its last reading, so different
contents are never sealed with the same associated data. A row that was moved, or that belongs to another step or
version, cannot be opened. Table key: ``u`` + series, a zero byte, and the row number in 8 bytes, counted through all
steps.

Anyone with the key and the disk can read the open steps. Once the epoch's key is erased, nobody can, not even from
deleted rows that survive in log segments and database files.
"""

from functools import lru_cache
from struct import Struct
from typing import Final, NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from stream_app.deciding.units.opened import BLOCK_UNITS
from stream_app.privacy.units.readings import UNIT_BYTES

BLOCK_BYTES: Final = BLOCK_UNITS * UNIT_BYTES
_TAG_BYTES: Final = 16
_NUMBER_BYTES: Final = 8
_HEAD: Final = Struct(">QQ")
_DESCRIBED: Final = Struct(">5Q")
SEALED_BYTES: Final = _HEAD.size + _TAG_BYTES + BLOCK_BYTES
"""The length of each row in bytes."""
PREFIX: Final = b"u"


class LostUnitsError(LookupError):
    """Raised if the readings of an open step are missing from the state table or cannot be opened."""

    def __init__(self, key: bytes, found: str) -> None:
        super().__init__(f"state table: a sealed row of series {key.decode()!r} {found}; run `recover`")


class Place(NamedTuple):
    """A row's identity: the series' record key, the row number, the step's version and the first unit."""

    key: bytes
    number: int
    version: int
    first_unit: int

    @property
    def row_key(self) -> bytes:
        """The row's key in the state table."""
        return b"%b%b\0%b" % (PREFIX, self.key, self.number.to_bytes(_NUMBER_BYTES))

    def described(self, topic: str, offset: int) -> bytes:
        """Return the row's associated data, given that its last reading is at ``offset`` of the topic with this id."""
        named = topic.encode()
        return _DESCRIBED.pack(offset, self.version, self.first_unit, len(named), len(self.key)) + named + self.key


def sealed(secret: bytes, topic: str, place: Place, offset: int, units: bytes | bytearray) -> bytes:
    """Return a row: its last reading's offset and its step's version in the clear, then its sealed units."""
    # PRIVACY: raw cells leave memory only here: in a fixed length, under a key that is erased with its epoch.
    text = _cipher(secret).encrypt(bytes(units), [place.described(topic, offset)])
    return _HEAD.pack(offset, place.version) + text


def opened(secret: bytes, topic: str, place: Place, row: bytes) -> tuple[int, bytearray]:
    """Return the offset of a row's last reading, and its units.

    Raises:
        LostUnitsError: if the row does not match the place, was changed, or is sealed under another key.
    """
    if len(row) != SEALED_BYTES:
        raise LostUnitsError(place.key, f"has {len(row)} bytes")
    offset, version = _HEAD.unpack_from(row)
    if version != place.version:
        raise LostUnitsError(place.key, f"has version {version}, but its step has version {place.version}")
    try:
        units = _cipher(secret).decrypt(row[_HEAD.size :], [place.described(topic, offset)])
    except InvalidTag:
        raise LostUnitsError(place.key, "does not belong to its step, or is sealed under another key") from None
    return offset, bytearray(units)


@lru_cache(maxsize=64)
def _cipher(secret: bytes) -> AESSIV:
    return AESSIV(secret)
