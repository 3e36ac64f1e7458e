"""Signing keys: Ed25519 (S. Josefsson, I. Liusvaara, RFC 8032, 2017), readable only by their owner.

A key file is an unencrypted PKCS #8 PEM, and the public key is a SubjectPublicKeyInfo PEM. Any tool can check a
signature.
"""

from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Final, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization as pem
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from stream_app.setup.keyfile import KeyFileError, read_private, write_private

PEM_START: Final = b"-----BEGIN PRIVATE KEY-----"
FINGERPRINT_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key that signs the ledger's checkpoints.

    ``fingerprint`` is the 8-byte BLAKE2b hash of its public key, as 16 hex digits.
    """

    private: Ed25519PrivateKey = field(repr=False)
    fingerprint: str = field(init=False)

    def __post_init__(self) -> None:
        """Derive the key's fingerprint."""
        raw = self.private.public_key().public_bytes(pem.Encoding.Raw, pem.PublicFormat.Raw)
        object.__setattr__(self, "fingerprint", blake2b(raw, digest_size=FINGERPRINT_BYTES).hexdigest())

    @classmethod
    def create(cls, path: Path) -> Self:
        """Write a new key with mode 0600; raises `KeyFileError` if the path exists, so no file is overwritten."""
        key = cls(Ed25519PrivateKey.generate())
        write_private(path, key.private.private_bytes(pem.Encoding.PEM, pem.PrivateFormat.PKCS8, pem.NoEncryption()))
        return key

    @classmethod
    def load(cls, path: Path) -> Self:
        """Return the key in a file; raises `KeyFileError` if it is missing, readable by others, or no signing key."""
        content = read_private(path)
        try:
            private = pem.load_pem_private_key(content, None)
        except (ValueError, TypeError):
            private = None
        if not isinstance(private, Ed25519PrivateKey):
            raise KeyFileError(path, "contains no Ed25519 key in PEM form; create one with `keys new FILE --signing`")
        return cls(private)

    def sign(self, content: bytes) -> bytes:
        """Return the 64-byte signature, which is always the same for the same content."""
        return self.private.sign(content)

    def signed(self, content: bytes, signature: bytes) -> bool:
        """Return whether this key made the signature."""
        try:
            self.private.public_key().verify(signature, content)
        except InvalidSignature:
            return False
        return True

    def public_pem(self) -> str:
        """Return the public key, which auditors need; it is not secret."""
        public = self.private.public_key()
        return public.public_bytes(pem.Encoding.PEM, pem.PublicFormat.SubjectPublicKeyInfo).decode()


def is_signing_key(path: Path) -> bool:
    """Return whether a key file holds a signing key rather than a noise key; raises `KeyFileError` like `load`."""
    return read_private(path).startswith(PEM_START)
