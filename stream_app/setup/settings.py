"""Settings from one TOML file and the environment, which takes precedence; all errors are reported.

The environment variable for a field is ``LANDMARK_STREAM_<FIELD>``; tables and lists are written as JSON in these
variables.
"""

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, SettingsError

from stream_app.files import unread
from stream_app.plain import NOT_UTF8, fault, meant
from stream_app.privacy.parameters import LARGEST_EPSILON, LAST_TIMESTAMP_MS
from stream_app.setup.brokers import BrokerSettings, PresentFile

DEFAULT_FILE = Path("landmark-stream.toml")
PREFIX = "LANDMARK_STREAM_"
QUOTED = re.compile('field "([^"]+)"')
PLACE = re.compile(r"at line (\d+), column (\d+)")

_MEBIBYTE = 1024 * 1024
_Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Epsilon = Annotated[float, Field(gt=0, le=LARGEST_EPSILON, allow_inf_nan=False)]


class Problem(NamedTuple):
    """A problem with the settings: the field, and what is wrong with it."""

    field: str
    message: str

    def __str__(self) -> str:
        """Return the field and the message; no field name can break the line or control the terminal."""
        field = self.field if self.field.isprintable() else ascii(self.field)[1:-1]
        return f"{field}: {self.message}"


class InvalidSettingsError(Exception):
    """Raised for unusable settings; ``problems`` contains every problem."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


class Settings(BrokerSettings):
    """The operator's settings; every field has a safe default."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, extra="forbid", frozen=True, validate_default=True, hide_input_in_errors=True
    )

    # Privacy
    key_file: Path = Field(Path("landmark.key"), description="file of the noise keys, readable only by its owner")
    key_epoch_ms: int | None = Field(
        None,
        ge=86_400_000,
        le=LAST_TIMESTAMP_MS,
        description="length of a key epoch in event time; unset: one epoch for all time",
    )
    signing_key_file: Path | None = Field(
        None,
        description="key that signs checkpoints (heads) of the ledger, readable only by its owner; unset: none",
    )
    head_interval_ms: int = Field(60_000, ge=100, description="time within which a change to the ledger is signed")
    lifetime_epsilon: _Epsilon | None = Field(
        None, description="limit for a series across its policy versions; unset: its first policy's epsilon"
    )
    max_epsilon: _Epsilon | None = Field(None, description="limit on a policy's epsilon; unset: none")
    accept_policies: bool = Field(
        default=True,
        description="whether policies in the events topic are accepted; otherwise only default policies apply",
    )
    accept_weaker_policies: bool = Field(
        default=False,
        description='whether a policy version with "weaker":true may protect less than the previous version',
    )
    member_separator: str | None = Field(
        None, pattern="^[!-~]$", description="ASCII character after a person's name in series ids; it can never change"
    )
    member_epsilon: _Epsilon | None = Field(
        None, description="limit on the epsilon that the series of a new person reserve together; unset: none"
    )
    max_future_ms: int = Field(
        86_400_000,
        ge=0,
        le=LAST_TIMESTAMP_MS,
        description=f"how far an event may be ahead of its append time; {LAST_TIMESTAMP_MS}: no limit",
    )
    policies: tuple[dict[str, Any], ...] = Field((), description="default policies; the first matching glob applies")
    policies_file: PresentFile | None = Field(None, description="default policies as JSON Lines, after `policies`")
    correlations: dict[Annotated[str, Field(min_length=1, max_length=200)], Path] = Field(
        default_factory=dict, description="correlation files, by the name that policies use"
    )
    correlation_alarm: _Positive | None = Field(
        None, description="backward loss, in epsilon, that raises the alarm for a series; unset: no alarm"
    )

    # Worker
    data_folder: Path = Field(
        Path("landmark-data"), description="folder of local state; if lost, it is rebuilt from the changelog"
    )
    rocksdb_budget_bytes: int = Field(96 * _MEBIBYTE, ge=16 * _MEBIBYTE, description="memory for a worker's RocksDB")
    cached_series: int = Field(
        1_000_000, ge=100, description="series kept in memory across all partitions; a tenth of them are decoded"
    )
    batch_records: int = Field(4_000, ge=1, le=1_000_000, description="maximum input records per transaction")
    batch_bytes: int = Field(
        16 * _MEBIBYTE, ge=1, description="maximum input bytes per transaction, unless one record is larger"
    )
    output_batch_bytes: int = Field(
        3_000_000, ge=300_000, description="maximum bytes of an output batch; below the topics' max.message.bytes"
    )
    fetch_bytes: int = Field(2 * _MEBIBYTE, ge=300_000, description="maximum bytes per fetch of a partition")
    exit_when_stopped: Literal["all", "any", "never"] = Field(
        "all",
        description="end the worker when this many of its partitions have stopped; unless set to never, one stop "
        "caused by a full disk, the limit on files or the local state is enough",
    )
    exit_delay_ms: int = Field(
        20_000,
        ge=0,
        le=600_000,
        description="how long a worker that ends because of stopped partitions still serves its page and metrics, so "
        "that Prometheus sees the cause; it has left its group, and a signal ends it at once",
    )
    http_host: str = Field("127.0.0.1", min_length=1, description="address for the page, metrics and health")
    http_port: int = Field(9464, ge=0, le=65535, description="port for the page, metrics and health; 0: any free port")
    http_series: bool = Field(
        default=False, description="whether the page of `audit --follow` names the series of its findings"
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="lowest level of log lines to write"
    )
    log_format: Literal["text", "json"] = Field(
        "text", description="format of log lines: text, or one JSON object each"
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 (the names are pydantic's)
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Give the environment precedence over the arguments, which hold the content of the file."""
        return env_settings, init_settings

    @classmethod
    def load(cls, file: Path | None = None) -> Self:
        """Read ``file`` (or an existing default file) and the environment; may raise `InvalidSettingsError`."""
        problems = [
            Problem(name, _no_field(name))
            for name in sorted(os.environ)  # noqa: TID251 (this file is the reader of the environment)
            if name.startswith(PREFIX) and name.removeprefix(PREFIX).lower() not in cls.model_fields
        ]
        try:
            content = _read(file)
        except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InvalidSettingsError((_unread(str(file or DEFAULT_FILE), error), *problems)) from error
        try:
            settings = cls(**content)
        except ValidationError as error:
            problems += [
                Problem(".".join(map(str, found["loc"])), fault(found, lambda _: cls.model_fields, noun="field"))
                for found in error.errors()
            ]
        except SettingsError as error:
            field = QUOTED.search(str(error))
            name = PREFIX + field[1].upper() if field else "environment"
            problems.append(Problem(name, "is not valid JSON: in the environment, write tables and lists as JSON"))
        else:
            if not problems:
                return settings
        raise InvalidSettingsError(tuple(problems))

    def environment(self) -> dict[str, str]:
        """Return the environment for a process with these settings, including a password not kept in a file."""
        fields = self.model_dump(mode="json", exclude_none=True)
        if self.sasl_password is not None:
            fields["sasl_password"] = self.sasl_password.get_secret_value()
        others = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}  # noqa: TID251 (this file is the reader of the environment)
        return others | {
            PREFIX + name.upper(): value if isinstance(value, str) else json.dumps(value)
            for name, value in fields.items()
        }

    def shown(self) -> dict[str, Any]:
        """Return the settings in force as JSON values, masking passwords and any landmarks hidden by dummies."""
        document = self.model_dump(mode="json")
        document["policies"] = [_without_hidden(policy) for policy in document["policies"]]
        return document


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


def _unread(file: str, error: Exception) -> Problem:
    """Return why a file has no valid settings, with the line number but no text that may be a password."""
    if isinstance(error, OSError):
        return Problem(file, f"{unread(error)}; specify the path of a TOML file")
    if isinstance(error, UnicodeDecodeError):
        return Problem(file, NOT_UTF8)
    if isinstance(error, RecursionError):
        return Problem(file, "is nested too deeply; check the brackets")
    if place := PLACE.search(str(error)):
        wanted = "write NAME = VALUE with text in double quotes, or a table as [NAME], each once"
        return Problem(f"{file}:{place[1]}", f"is not valid TOML, at character {place[2]}; {wanted}")
    return Problem(
        file, "is not valid TOML: the file ends before its last value is complete; close the quotes and brackets"
    )


def _no_field(name: str) -> str:
    known = [PREFIX + field.upper() for field in Settings.model_fields]
    return f"unknown field{meant(name, known) or '; known fields are ' + ', '.join(Settings.model_fields)}"
