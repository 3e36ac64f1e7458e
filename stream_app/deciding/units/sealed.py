"""Sealed rows: sixteen units of an open step, as long whatever they hold, that only the key of their epoch opens.

AES-SIV (RFC 5297) needs no nonce: the associated data name the place of a row and the last reading that it took up, so
no two contents are sealed under the same. A row that was put elsewhere, or is another step's or version's, does not
open. Table key: ``u`` + series, a zero byte, and the number of the row in 8 bytes, counted through all steps.

Who has key and disk sees what is open; once the epoch's key is erased nobody does, in deleted rows that survive in log
segments and database files neither.
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
"""The length of each row."""
PREFIX: Final = b"u"


class LostUnitsError(LookupError):
    """A row says that a step is open, but what it read is not in the state table, or does not open."""

    def __init__(self, key: bytes, found: str) -> None:
        super().__init__(f"state table: a sealed row of series {key.decode()!r} {found}; run `recover`")


class Place(NamedTuple):
    """Which row it is: the record key of its series, its number, the version of its step, and its first unit."""

    key: bytes
    number: int
    version: int
    first_unit: int

    @property
    def row_key(self) -> bytes:
        """Its key in the state table."""
        return b"%b%b\0%b" % (PREFIX, self.key, self.number.to_bytes(_NUMBER_BYTES))

    def described(self, topic: str, offset: int) -> bytes:
        """Return the associated data of a row whose last reading is that at ``offset`` of the topic of that id."""
        named = topic.encode()
        return _DESCRIBED.pack(offset, self.version, self.first_unit, len(named), len(self.key)) + named + self.key


def sealed(secret: bytes, topic: str, place: Place, offset: int, units: bytes | bytearray) -> bytes:
    """Return a row: the offset of its last reading and the version of its step, in the clear, and its units, sealed."""
    # PRIVACY: raw cells leave memory here alone: in a fixed length, under a key that is erased with its epoch.
    text = _cipher(secret).encrypt(bytes(units), [place.described(topic, offset)])
    return _HEAD.pack(offset, place.version) + text


def opened(secret: bytes, topic: str, place: Place, row: bytes) -> tuple[int, bytearray]:
    """Return the offset of a row's last reading, and its units.

    Raises:
        LostUnitsError: if it is another one than the place says, was changed, or is sealed under another key.
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
