"""What decisions depend on besides the log: keys, default policies, limits and the routing of series."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from hashlib import blake2b

from stream_app.deciding.members import member_of
from stream_app.deciding.rows import SeriesRow, policy_digest
from stream_app.formats import wire
from stream_app.loss.envelope import Envelope, faded
from stream_app.privacy.amounts import Flag, Whole
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.place import charge_nano
from stream_app.privacy.policy import Policy
from stream_app.privacy.values import NANO

FINGERPRINT_BYTES = 8


@dataclass(frozen=True, slots=True)
class DefaultPolicy:
    """A policy for the series that match a glob and have none of their own; ``view`` names a view of each instead."""

    glob: str
    policy: Policy
    view: str = ""
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
    views: tuple[DefaultPolicy, ...] = field(init=False, repr=False, compare=False)  # those that make views

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
        # As they were before there were views, where there is none.
        defaults = [[one.glob, one.digest, *([one.view] if one.view else [])] for one in self.defaults]
        document = [self.keys.epoch_ms, defaults, caps]
        digest = blake2b(wire.dump(document), digest_size=FINGERPRINT_BYTES).hexdigest()
        object.__setattr__(self, "fingerprint", digest)
        object.__setattr__(self, "views", tuple(default for default in self.defaults if default.view))

    def key_of(self, series: str) -> bytes:
        """Return the record key of a series' events: its member."""
        return member_of(series, self.limits.member_separator).encode()

    def default_for(self, series: str) -> DefaultPolicy | None:
        """Return the first default policy whose glob matches."""
        matching = (default for default in self.defaults if not default.view and fnmatchcase(series, default.glob))
        return next(matching, None)

    def views_of(self, base: str) -> dict[str, DefaultPolicy]:
        """Return the views that the configuration makes for a series that is none itself, by their ids, in order.

        A view whose id would be longer than that of any series is not made.
        """
        found: dict[str, DefaultPolicy] = {}
        for default in self.views:
            series = f"{base}{self.limits.member_separator}{default.view}"
            if fnmatchcase(base, default.glob) and len(series.encode()) <= wire.LARGEST_SERIES_BYTES:
                found.setdefault(series, default)
        return found

    def base_of(self, series: str) -> str | None:
        """Return the series whose view the configuration makes of that id; None: it makes none."""
        if not self.views or self.limits.member_separator is None:
            return None
        base, separator, _ = series.rpartition(self.limits.member_separator)
        if not separator or series not in self.views_of(base) or self.base_of(base) is not None:
            return None
        return base

    def is_view(self, row: SeriesRow | None, series: str) -> bool:
        """Return whether an id is that of a view: what it exists as counts, else what the configuration makes of it."""
        return row.view if row is not None else self.base_of(series) is not None

    def of_views(self, row: SeriesRow | None, series: str) -> bool:
        """Return whether a series is a view, or has one."""
        if row is not None and (row.view or row.views.begun):
            return True
        return bool(self.views) and (bool(self.views_of(series)) or self.base_of(series) is not None)

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
