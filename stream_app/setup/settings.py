"""Settings: one TOML file and the environment over it, every error of both at once.

The environment variable of a field is ``LANDMARK_STREAM_<FIELD>``; tables and lists are JSON there.
"""

import os
import ssl
import stat
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, SettingsError

from stream_app.privacy.parameters import LARGEST_EPSILON, LAST_TIMESTAMP_MS

DEFAULT_FILE = Path("landmark-stream.toml")
PREFIX = "LANDMARK_STREAM_"

_NAME = r"^[A-Za-z0-9._-]+$"  # what Kafka allows in the names of topics and groups
_MEBIBYTE = 1024 * 1024
_Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Epsilon = Annotated[float, Field(gt=0, le=LARGEST_EPSILON, allow_inf_nan=False)]


class Problem(NamedTuple):
    """One thing wrong with the settings: the field, and what is wrong with it."""

    field: str
    message: str


class InvalidSettingsError(Exception):
    """Settings that cannot be used; ``problems`` holds all of them."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(f"{problem.field}: {problem.message}" for problem in problems))
        self.problems = problems


class Settings(BaseSettings):
    """What the operator decides; every field has a safe default."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, extra="forbid", frozen=True, validate_default=True, hide_input_in_errors=True
    )

    # Kafka
    bootstrap_servers: str = Field(
        "127.0.0.1:9092", min_length=1, description="brokers to ask first: host:port, comma separated"
    )
    application: str = Field(
        "landmark-stream", pattern=_NAME, max_length=100, description="consumer group; begins each transactional id"
    )
    prefix: str = Field("landmark", pattern=_NAME, max_length=100, description="what the topics' names begin with")
    partitions: int = Field(4, ge=1, le=1024, description="partitions of every topic; fixed once events came")
    standby_replicas: int = Field(0, ge=0, le=3, description="workers besides the owner that keep a copy of the state")
    session_timeout_ms: int = Field(
        45_000, ge=6_000, le=300_000, description="silence after which a worker counts as gone"
    )
    transaction_timeout_ms: int = Field(
        60_000, ge=10_000, le=900_000, description="the broker aborts a transaction after it"
    )

    # Transport
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_SSL", "SASL_PLAINTEXT"] = Field(
        "PLAINTEXT", description="how every client speaks to the brokers"
    )
    allow_plaintext_credentials: bool = Field(default=False, description="lets SASL_PLAINTEXT show the password")
    ca_file: Path | None = Field(None, description="certificates that sign the brokers' own; unset: the system's")
    certificate_file: Path | None = Field(None, description="the client's certificate; with certificate_key_file")
    certificate_key_file: Path | None = Field(None, description="its private key; with certificate_file")
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = Field(
        "SCRAM-SHA-512", description="how the user is proved, where security_protocol is one of SASL"
    )
    sasl_user: str | None = Field(
        None, description="who the program is to the brokers; SASL needs it, others refuse it"
    )
    sasl_password: SecretStr | None = Field(None, description="the password; this or sasl_password_file with SASL")
    sasl_password_file: Path | None = Field(None, description="a file that holds the password alone")

    # Privacy
    key_file: Path = Field(Path("landmark.key"), description="noise keys, readable by their owner alone")
    key_epoch_ms: int | None = Field(
        None, ge=86_400_000, le=LAST_TIMESTAMP_MS, description="length of a key epoch in event time; unset: all time"
    )
    signing_key_file: Path | None = Field(
        None, description="signs the ledger's heads, readable by its owner alone; unset: no heads are written"
    )
    head_interval_ms: int = Field(60_000, ge=100, description="a change of the ledger is signed within this time")
    lifetime_epsilon: _Epsilon | None = Field(
        None, description="budget of a series over all its policy versions; unset: its first policy's epsilon"
    )
    max_epsilon: _Epsilon | None = Field(None, description="cap of a policy's epsilon; unset: none")
    accept_policies: bool = Field(
        default=True, description="whether policies in the events topic count; else the default policies alone rule"
    )
    accept_weaker_policies: bool = Field(
        default=False, description='whether a policy version with "weaker":true may protect less than the one before'
    )
    member_separator: str | None = Field(
        None, pattern="^[!-~]$", description="ASCII character that ends a member's name in series ids; fixed for ever"
    )
    member_epsilon: _Epsilon | None = Field(
        None, description="cap of what the series of a new member claim together; unset: none"
    )
    max_future_ms: int | None = Field(
        None, ge=0, le=LAST_TIMESTAMP_MS, description="how far ahead of its append time an event may lie; unset: any"
    )
    policies: tuple[dict[str, Any], ...] = Field((), description="default policies; the first matching glob rules")
    policies_file: Path | None = Field(None, description="default policies as JSON Lines, after `policies`")
    correlations: dict[Annotated[str, Field(min_length=1, max_length=200)], Path] = Field(
        default_factory=dict, description="correlation files by the name that policies give them"
    )
    correlation_alarm: _Positive | None = Field(
        None, description="backward loss, in epsilon, from which a series counts as alarming; unset: none does"
    )

    # Worker
    data_folder: Path = Field(Path("landmark-data"), description="local state; can be lost, the changelog rebuilds it")
    rocksdb_budget_bytes: int = Field(96 * _MEBIBYTE, ge=16 * _MEBIBYTE, description="memory of a worker's RocksDB")
    cached_series: int = Field(
        1_000_000, ge=100, description="series kept in memory, over all partitions; a tenth of them decoded"
    )
    batch_records: int = Field(4_000, ge=1, le=1_000_000, description="most input records of a transaction")
    batch_bytes: int = Field(16 * _MEBIBYTE, ge=1, description="most input bytes of a transaction, or one record")
    output_batch_bytes: int = Field(
        3_000_000, ge=300_000, description="most bytes of an output batch; under the topics' max.message.bytes"
    )
    fetch_bytes: int = Field(2 * _MEBIBYTE, ge=300_000, description="most bytes fetched of a partition at once")
    exit_when_stopped: Literal["all", "any", "never"] = Field(
        "all",
        description="end the worker when this many of its partitions stopped; one that a full disk, the limit on files "
        "or its local state stopped is enough, unless never",
    )
    http_host: str = Field(
        "127.0.0.1", min_length=1, description="address on which a page, metrics and health are served"
    )
    http_port: int = Field(9464, ge=0, le=65535, description="port of page, metrics and health; 0: any free one")
    http_series: bool = Field(
        default=False, description="whether the page of `audit --follow` names the series of its findings"
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="the least grave log lines that are written"
    )

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
            raise ValueError("certificate_file and certificate_key_file belong together: set both or none")
        return value

    @field_validator("ca_file", "certificate_file", "certificate_key_file", "sasl_password_file", "policies_file")
    @classmethod
    def _file_exists(cls, value: Path | None) -> Path | None:
        if value is not None and not value.is_file():
            raise ValueError("names no file")
        return value

    @field_validator("sasl_password_file", "certificate_key_file")
    @classmethod
    def _others_cannot_read(cls, value: Path | None) -> Path | None:
        mode = 0 if value is None else stat.S_IMODE(value.stat().st_mode)
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise ValueError(f"mode is {mode:04o}, so others may read it: run `chmod 600`, and consider it seen")
        return value

    @field_validator("ca_file")
    @classmethod
    def _trusts_somebody(cls, value: Path | None) -> Path | None:
        try:
            if value is not None:
                ssl.create_default_context(cafile=value)
        except ssl.SSLError as error:
            raise ValueError(f"holds no certificates in PEM form ({error.reason or error})") from None
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
                    f"{certificate} and it are no certificate and its key, PEM form, not encrypted ({found})"
                ) from None
        return value

    @field_validator("sasl_user")
    @classmethod
    def _user_and_protocol(cls, value: str | None, info: ValidationInfo) -> str | None:
        protocol = info.data.get("security_protocol", "")
        if protocol.startswith("SASL") and not value:
            raise ValueError(f"security_protocol {protocol} needs a user")
        if protocol and not protocol.startswith("SASL") and value:
            raise ValueError(f"security_protocol {protocol} would not use it: set SASL_SSL")
        return value

    @field_validator("sasl_password_file")
    @classmethod
    def _one_password(cls, value: Path | None, info: ValidationInfo) -> Path | None:
        passwords = (value is not None) + (info.data.get("sasl_password") is not None)
        wanted = int(info.data.get("security_protocol", "").startswith("SASL"))
        if passwords != wanted:
            raise ValueError(f"found {passwords} passwords (sasl_password, sasl_password_file), {wanted} needed")
        if value is not None and not value.read_text().strip("\r\n"):
            raise ValueError("is empty: it holds the password alone")
        return value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 (the names are pydantic's)
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Put the environment over the arguments, which hold the file's content."""
        return env_settings, init_settings

    @classmethod
    def load(cls, file: Path | None = None) -> Self:
        """Read ``file`` (else ``landmark-stream.toml`` if it is there) and the environment over it.

        Raises:
            InvalidSettingsError: with every problem of both.
        """
        problems = [
            Problem(name, f"no field of that name; the fields are {', '.join(cls.model_fields)}")
            for name in sorted(os.environ)  # noqa: TID251 (this file is the reader of the environment)
            if name.startswith(PREFIX) and name.removeprefix(PREFIX).lower() not in cls.model_fields
        ]
        try:
            content = _read(file)
        except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InvalidSettingsError((Problem(str(file or DEFAULT_FILE), _reason(error)), *problems)) from error
        try:
            settings = cls(**content)
        except ValidationError as error:
            problems += [Problem(".".join(map(str, found["loc"])), _sentence(found)) for found in error.errors()]
        except SettingsError as error:
            problems.append(Problem("environment", f"{error}; tables and lists are JSON there"))
        else:
            if not problems:
                return settings
        raise InvalidSettingsError(tuple(problems))

    def password(self) -> str | None:
        """Return the SASL password, from the file if one is named; a final line break is not part of it."""
        if self.sasl_password_file is not None:
            return self.sasl_password_file.read_text().rstrip("\r\n")
        return None if self.sasl_password is None else self.sasl_password.get_secret_value()

    def shown(self) -> dict[str, Any]:
        """Return what is in force as JSON values, secrets hidden: passwords, and landmarks that dummies are to hide."""
        document = self.model_dump(mode="json")
        document["policies"] = [_without_hidden(policy) for policy in document["policies"]]
        return document


def load_certificate(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    """Let a TLS client show a certificate; raises `ssl.SSLError` unless both files are one pair, not encrypted."""
    context.load_cert_chain(certificate, key, password=bytes)  # without one, an encrypted key would ask the terminal


def _without_hidden(policy: dict[str, Any]) -> dict[str, Any]:
    protection = policy.get("protection")
    if policy.get("dummies") is None or not isinstance(protection, dict) or "landmarks" not in protection:
        return policy
    return {**policy, "protection": {**protection, "landmarks": "hidden by dummies"}}


def _read(file: Path | None) -> dict[str, Any]:
    if file is None and not DEFAULT_FILE.exists():
        return {}
    with (file or DEFAULT_FILE).open("rb") as content:
        return tomllib.load(content)


def _reason(error: Exception) -> str:
    return f"{error.strerror}: give the path of a TOML file" if isinstance(error, OSError) else f"not TOML: {error}"


def _sentence(found: Any) -> str:
    if found["type"] == "extra_forbidden":
        return "no field of that name"
    return str(found["msg"]).removeprefix("Value error, ")
