"""Signing keys: files as private as noise keys, and signatures that follow RFC 8032."""

import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_public_key

from stream_app.heads.signing import SigningKey, is_signing_key
from stream_app.setup import keyfile
from stream_app.setup.keyfile import KeyFileError

# RFC 8032, section 7.1: secret key, message, signature.
VECTORS = (
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
)


@pytest.mark.parametrize(("secret", "message", "signature"), VECTORS)
def test_signatures_are_those_of_the_standard(secret: str, message: str, signature: str) -> None:
    """Signatures equal the vectors of RFC 8032, and fail for any other message or signature."""
    key = SigningKey(Ed25519PrivateKey.from_private_bytes(bytes.fromhex(secret)))
    content, signed = bytes.fromhex(message), bytes.fromhex(signature)
    assert key.sign(content) == signed
    assert key.signed(content, signed)
    assert not key.signed(content + b".", signed)
    assert not key.signed(content, bytes(64))
    assert not key.signed(content, b"")


def test_a_file_is_private_and_never_overwritten(tmp_path: Path) -> None:
    """A file has mode 0600, a second `create` keeps the first key, and nothing shown holds the secret."""
    path = tmp_path / "key"
    key = SigningKey.create(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(KeyFileError, match="already exists"):
        SigningKey.create(path)
    loaded = SigningKey.load(path)
    assert loaded.fingerprint == key.fingerprint
    assert loaded.sign(b"x") == key.sign(b"x")
    raw = key.private.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
    assert raw.hex() not in repr(key)
    path.chmod(0o640)
    with pytest.raises(KeyFileError, match="0640"):
        SigningKey.load(path)


def test_any_tool_reads_the_public_key(tmp_path: Path) -> None:
    """The exported PEM verifies what the private key signed."""
    key = SigningKey.create(tmp_path / "key")
    public = load_pem_public_key(key.public_pem().encode())
    assert isinstance(public, Ed25519PublicKey)
    public.verify(key.sign(b"a head"), b"a head")


def test_what_is_no_signing_key_is_refused(tmp_path: Path) -> None:
    """A noise key, another kind of key and rubbish are refused; each error names the remedy."""
    other = X25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    for number, content in enumerate((other, b"-----BEGIN PRIVATE KEY-----\nrubbish", b"")):
        path = tmp_path / f"{number}"
        keyfile.write_private(path, content)
        with pytest.raises(KeyFileError, match="--signing"):
            SigningKey.load(path)
    keyfile.create(tmp_path / "noise")
    assert not is_signing_key(tmp_path / "noise")
    with pytest.raises(KeyFileError, match="--signing"):
        SigningKey.load(tmp_path / "noise")
