"""What decisions depend on besides the log: keys, default policies, limits and the routing of series."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from hashlib import blake2b

from stream_app import wire
from stream_app.privacy.key import KeyRing
from stream_app.privacy.policy import Policy
from stream_app.rows import policy_digest

FINGERPRINT_BYTES = 8


@dataclass(frozen=True, slots=True)
class DefaultPolicy:
    """A policy for the series that match a glob and have none of their own."""

    glob: str
    policy: Policy
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        """Derive the digest that names the policy in the state table."""
        object.__setattr__(self, "digest", policy_digest(self.policy))


@dataclass(frozen=True, slots=True)
class Limits:
    """The operator's caps; None is no cap of its own."""

    lifetime_nano: int | None = None  # None: the epsilon of a series' first policy
    max_epsilon_nano: int | None = None
    accept_policies: bool = True
    max_future_ms: int | None = None  # against the broker's append time


@dataclass(frozen=True, slots=True)
class Context:
    """Everything a decision reads besides the record and its series' row."""

    keys: KeyRing
    defaults: tuple[DefaultPolicy, ...] = ()
    limits: Limits = Limits()
    partition_of: Callable[[bytes], int] | None = None  # None: records are not routed, as in `replay`
    fingerprint: str = field(init=False)

    def __post_init__(self) -> None:
        """Derive the fingerprint of the configuration: equal ones decide alike (under equal keys)."""
        limits = self.limits
        document = [
            self.keys.epoch_ms,
            [[default.glob, default.digest] for default in self.defaults],
            [limits.lifetime_nano, limits.max_epsilon_nano, limits.accept_policies, limits.max_future_ms],
        ]
        digest = blake2b(wire.dump(document), digest_size=FINGERPRINT_BYTES).hexdigest()
        object.__setattr__(self, "fingerprint", digest)

    def default_for(self, series: str) -> DefaultPolicy | None:
        """Return the first default policy whose glob matches."""
        return next((default for default in self.defaults if fnmatchcase(series, default.glob)), None)
