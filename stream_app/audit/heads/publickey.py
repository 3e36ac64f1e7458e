"""The public keys that may sign heads; the auditor supplies them, and they never come from the ledger.

The code that reads keys and verifies signatures is imported only if there are keys. Without heads, this import would
take a fifth of an audit's start-up time.
"""

from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stream_app.files import unread

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_FINGERPRINT_BYTES: Final = 8


class PublicKeyError(Exception):
    """A file without a valid public key; the message names the file and the remedy."""


class PublicKeys:
    """Trusted Ed25519 keys by fingerprint: the 8-byte BLAKE2b digest of the raw key, in hex."""

    def __init__(self, keys: "Iterable[Ed25519PublicKey]") -> None:
        raw = {key.public_bytes_raw(): key for key in keys}
        self._keys = {blake2b(text, digest_size=_FINGERPRINT_BYTES).hexdigest(): key for text, key in raw.items()}

    def signed(self, fingerprint: str, content: bytes, signature: bytes) -> bool | None:
        """Return whether the key with this fingerprint made the signature, or None if the key is not trusted."""
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - see above

        key = self._keys.get(fingerprint)
        if key is None:
            return None
        try:
            key.verify(signature, content)
        except InvalidSignature:
            return False
        return True

    @property
    def fingerprints(self) -> str:
        """The fingerprints as text for a message."""
        return ", ".join(sorted(self._keys))


def read_public_keys(paths: Iterable[Path]) -> PublicKeys:
    """Return the keys in PEM files; raises `PublicKeyError` if one is unreadable or not an Ed25519 key."""
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - see above
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_public_key  # noqa: PLC0415

    keys = []
    for path in paths:
        try:
            key = load_pem_public_key(path.read_bytes())
        except OSError as error:
            raise PublicKeyError(f"{path}: {unread(error)}; specify a file that can be read") from error
        except (ValueError, UnsupportedAlgorithm):
            key = None
        if not isinstance(key, Ed25519PublicKey):
            raise PublicKeyError(
                f"{path}: does not contain an Ed25519 public key in PEM format; `keys public FILE` prints one"
            )
        keys.append(key)
    return PublicKeys(keys)
