"""How clients reach the brokers: configuration of Kafka and of the transport, cross-checked."""

import ssl
import stat
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr, ValidationInfo, field_validator
from pydantic_settings import BaseSettings

LAST_PORT = 65_535
_NAME = r"^[A-Za-z0-9._-]+$"  # allowed in names of Kafka topics and groups


def _there(value: Path) -> Path:
    if not value.is_file():
        raise ValueError("names no file")
    return value


PresentFile = Annotated[Path, AfterValidator(_there)]


class BrokerSettings(BaseSettings):
    """Kafka names, brokers, TLS and SASL; every field has a safe default."""

    # Kafka
    bootstrap_servers: str = Field(
        "127.0.0.1:9092", min_length=1, description="initial brokers: host:port, separated by commas"
    )
    application: str = Field(
        "landmark-stream",
        pattern=_NAME,
        max_length=100,
        description="consumer group, and prefix of each transactional id",
    )
    prefix: str = Field("landmark", pattern=_NAME, max_length=100, description="prefix of the topics' names")
    partitions: int = Field(4, ge=1, le=1024, description="partitions of every topic; fixed after the first event")
    standby_replicas: int = Field(
        0, ge=0, le=3, description="number of other workers that keep a copy of a partition's state"
    )
    session_timeout_ms: int = Field(
        45_000, ge=6_000, le=300_000, description="time without a heartbeat after which a worker is considered lost"
    )
    transaction_timeout_ms: int = Field(
        60_000, ge=10_000, le=900_000, description="time after which the broker aborts a transaction"
    )

    # Transport
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_SSL", "SASL_PLAINTEXT"] = Field(
        "PLAINTEXT", description="protocol of all clients"
    )
    allow_plaintext_credentials: bool = Field(
        default=False, description="whether SASL_PLAINTEXT may send the password unencrypted"
    )
    ca_file: PresentFile | None = Field(
        None, description="certificates of the authorities that sign the brokers' certificates; unset: the system's"
    )
    certificate_file: PresentFile | None = Field(None, description="client certificate; requires certificate_key_file")
    certificate_key_file: PresentFile | None = Field(
        None, description="private key of the client certificate; requires certificate_file"
    )
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = Field(
        "SCRAM-SHA-512", description="SASL mechanism, if security_protocol is a SASL protocol"
    )
    sasl_user: str | None = Field(None, description="SASL user; required with SASL, not allowed otherwise")
    sasl_password: SecretStr | None = Field(None, description="SASL password; SASL needs this or sasl_password_file")
    sasl_password_file: PresentFile | None = Field(None, description="file that holds only the password")

    @field_validator("bootstrap_servers")
    @classmethod
    def _names_hosts(cls, value: str) -> str:
        for each in value.split(","):
            _, colon, port = each.strip().rpartition("]")[2].rpartition(":")
            if colon and not (port.isascii() and port.isdigit() and 0 < int(port) <= LAST_PORT):
                raise ValueError(f"use HOST:PORT, separated by commas, with ports from 1 to {LAST_PORT:,}")
        return value

    @field_validator("allow_plaintext_credentials")
    @classmethod
    def _credentials_stay_secret(cls, value: bool, info: ValidationInfo) -> bool:  # noqa: FBT001 (pydantic's call)
        if info.data.get("security_protocol") == "SASL_PLAINTEXT" and not value:
            raise ValueError("SASL_PLAINTEXT sends the password unencrypted: use SASL_SSL, or set this to true")
        return value

    @field_validator("certificate_key_file")
    @classmethod
    def _certificate_has_key(cls, value: Path | None, info: ValidationInfo) -> Path | None:
        if (value is None) != (info.data.get("certificate_file") is None):
            raise ValueError("certificate_file and certificate_key_file belong together: set both or neither")
        return value

    @field_validator("sasl_password_file", "certificate_key_file")
    @classmethod
    def _others_cannot_read(cls, value: Path | None) -> Path | None:
        mode = 0 if value is None else stat.S_IMODE(value.stat().st_mode)
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise ValueError(
                f"mode is {mode:04o}, so other users can read it: run `chmod 600`, and treat it as disclosed"
            )
        return value

    @field_validator("ca_file")
    @classmethod
    def _trusts_somebody(cls, value: Path | None) -> Path | None:
        try:
            if value is not None:
                ssl.create_default_context(cafile=value)
        except ssl.SSLError as error:
            raise ValueError(f"contains no certificates in PEM format ({error.reason or error})") from None
        return value

    @field_validator("certificate_key_file")
    @classmethod
    def _key_fits(cls, value: Path | None, info: ValidationInfo) -> Path | None:
        certificate: Path | None = info.data.get("certificate_file")
        if value is not None and certificate is not None:
            try:
                load_certificate(ssl.create_default_context(), certificate, value)
            except (ssl.SSLError, OSError) as error:
                found = getattr(error, "reason", None) or type(error).__name__
                raise ValueError(
                    f"{certificate} and this file are not a certificate and its unencrypted key in PEM format ({found})"
                ) from None
        return value

    @field_validator("sasl_user")
    @classmethod
    def _user_and_protocol(cls, value: str | None, info: ValidationInfo) -> str | None:
        protocol = info.data.get("security_protocol", "")
        if protocol.startswith("SASL") and not value:
            raise ValueError(f"security_protocol {protocol} needs a user")
        if protocol and not protocol.startswith("SASL") and value:
            raise ValueError(f"security_protocol {protocol} ignores the user; set SASL_SSL")
        return value

    @field_validator("sasl_password_file")
    @classmethod
    def _one_password(cls, value: Path | None, info: ValidationInfo) -> Path | None:
        passwords = (value is not None) + (info.data.get("sasl_password") is not None)
        wanted = int(info.data.get("security_protocol", "").startswith("SASL"))
        if passwords != wanted:
            raise ValueError(f"found {passwords} passwords (sasl_password, sasl_password_file), but expected {wanted}")
        if value is not None and not value.read_text().strip("\r\n"):
            raise ValueError("is empty: it must contain only the password")
        return value

    def password(self) -> str | None:
        """Return the SASL password, without a final line break if it is read from a configured file."""
        if self.sasl_password_file is not None:
            return self.sasl_password_file.read_text().rstrip("\r\n")
        return None if self.sasl_password is None else self.sasl_password.get_secret_value()


def load_certificate(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    """Load a TLS client certificate; raise `ssl.SSLError` if the files are not a pair or are encrypted."""
    context.load_cert_chain(certificate, key, password=bytes)  # otherwise an encrypted key causes a prompt
