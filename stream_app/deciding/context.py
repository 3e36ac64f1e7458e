"""What decisions depend on besides the log: keys, default policies, limits and the routing of series."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from hashlib import blake2b

from stream_app.deciding.members import member_of
from stream_app.deciding.rows import SeriesRow, policy_digest
from stream_app.formats import wire
from stream_app.loss.envelope import Envelope
from stream_app.loss.fading import faded
from stream_app.privacy.amounts import Flag, Whole
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.place import charge_nano
from stream_app.privacy.policy import Policy
from stream_app.privacy.values import NANO

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
    """The operator's caps; None where none is set."""

    lifetime_nano: int | None = None  # None: the epsilon of a series' first policy
    max_epsilon_nano: int | None = None
    accept_policies: bool = True
    accept_weaker_policies: bool = False
    max_future_ms: int | None = None  # against the broker's append time
    member_separator: str | None = None  # one ASCII character; None: every series is its own, and claims nothing
    member_nano: int | None = None  # the cap of a new member

    def ahead(self, timestamp_ms: Whole, appended_ms: Whole) -> Flag:
        """Return whether an event lies too far ahead of the broker's clock."""
        return self.max_future_ms is not None and timestamp_ms > appended_ms + self.max_future_ms


@dataclass(frozen=True, slots=True)
class Context:
    """Everything a decision reads besides the record and its series' row."""

    keys: KeyRing
    defaults: tuple[DefaultPolicy, ...] = ()
    limits: Limits = Limits()
    partition_of: Callable[[bytes], int] | None = None  # None: records are not routed, as in `replay`
    correlations: Mapping[str, Envelope] = field(default_factory=dict)  # backward, by name; no decision reads them
    fingerprint: str = field(init=False)

    def __post_init__(self) -> None:
        """Derive the fingerprint of the configuration: equal ones decide alike (under equal keys)."""
        limits = self.limits
        caps: list[object] = [
            limits.lifetime_nano,
            limits.max_epsilon_nano,
            limits.accept_policies,
            limits.max_future_ms,
        ]
        # Settings of later releases stand here only where they are not the default: an upgrade changes no fingerprint.
        caps += ["accept_weaker_policies"] if limits.accept_weaker_policies else []
        members = (("member_separator", limits.member_separator), ("member_epsilon", limits.member_nano))
        caps += [part for named in members if named[1] is not None for part in named]
        document = [self.keys.epoch_ms, [[default.glob, default.digest] for default in self.defaults], caps]
        digest = blake2b(wire.dump(document), digest_size=FINGERPRINT_BYTES).hexdigest()
        object.__setattr__(self, "fingerprint", digest)

    def key_of(self, series: str) -> bytes:
        """Return the record key of a series' events: its member."""
        return member_of(series, self.limits.member_separator).encode()

    def default_for(self, series: str) -> DefaultPolicy | None:
        """Return the first default policy whose glob matches."""
        return next((default for default in self.defaults if fnmatchcase(series, default.glob)), None)

    def backward_loss(self, row: SeriesRow, timestamp_ms: int, spend_nano: int) -> float | None:
        """Return the backward loss after a step that spends, from the row before it; None without a correlation.

        Guarantee: at least that of the named correlation over all releases since it has been named without a break, in
        whatever versions (Cao et al. 2017, equation 13). Where less is known nothing fades: under a name that the
        configuration lacks, and from one period to the next.
        """
        name = row.policy.correlation
        if name is None:
            return None
        before, envelope = row.backward_loss or 0.0, self.correlations.get(name)
        if envelope is not None:
            before = faded(envelope, before, row.state.elapsed_steps(timestamp_ms // row.policy.step_ms))
        return before + (spend_nano + charge_nano(row.policy, row.state, timestamp_ms)) / NANO
