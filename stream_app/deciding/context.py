"""All inputs to decisions except the log: keys, default policies, limits and series routing."""

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
    """A policy for series that match a glob and have no policy of their own.

    If ``view`` is set, the policy instead applies to each matching series' view of that name.
    """

    glob: str
    policy: Policy
    view: str = ""
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        """Derive the digest that names the policy in the state table."""
        object.__setattr__(self, "digest", policy_digest(self.policy))


@dataclass(frozen=True, slots=True)
class Limits:
    """The operator's limits; a limit that is not set is None."""

    lifetime_nano: int | None = None  # None for the epsilon of a series' first policy
    max_epsilon_nano: int | None = None
    accept_policies: bool = True
    accept_weaker_policies: bool = False
    max_future_ms: int | None = None  # after the broker's append time
    member_separator: str | None = None  # one ASCII character; if None, series are independent, reserve nothing
    member_nano: int | None = None  # limit of a new person

    def ahead(self, timestamp_ms: Whole, appended_ms: Whole) -> Flag:
        """Return whether an event lies too far ahead of the broker's clock."""
        return self.max_future_ms is not None and timestamp_ms > appended_ms + self.max_future_ms


@dataclass(frozen=True, slots=True)
class Context:
    """All inputs to a decision except the record and its series' row."""

    keys: KeyRing
    defaults: tuple[DefaultPolicy, ...] = ()
    limits: Limits = Limits()
    partition_of: Callable[[bytes], int] | None = None  # None if records are not routed, as in `replay`
    correlations: Mapping[str, Envelope] = field(default_factory=dict)  # backward, by name; not used by decisions
    fingerprint: str = field(init=False)
    views: tuple[DefaultPolicy, ...] = field(init=False, repr=False, compare=False)  # those for views

    def __post_init__(self) -> None:
        """Derive the fingerprint of the configuration.

        If two configurations have equal fingerprints and keys, their decisions are equal.
        """
        limits = self.limits
        caps: list[object] = [
            limits.lifetime_nano,
            limits.max_epsilon_nano,
            limits.accept_policies,
            limits.max_future_ms,
        ]
        # Settings added in later versions are included only if they are not the default, so an upgrade changes no
        # fingerprint.
        caps += ["accept_weaker_policies"] if limits.accept_weaker_policies else []
        members = (("member_separator", limits.member_separator), ("member_epsilon", limits.member_nano))
        caps += [part for named in members if named[1] is not None for part in named]
        # Without views, the defaults have the same form as before views existed.
        defaults = [[one.glob, one.digest, *([one.view] if one.view else [])] for one in self.defaults]
        document = [self.keys.epoch_ms, defaults, caps]
        digest = blake2b(wire.dump(document), digest_size=FINGERPRINT_BYTES).hexdigest()
        object.__setattr__(self, "fingerprint", digest)
        object.__setattr__(self, "views", tuple(default for default in self.defaults if default.view))

    def key_of(self, series: str) -> bytes:
        """Return the record key of a series' events: the name of the person the series belongs to."""
        return member_of(series, self.limits.member_separator).encode()

    def default_for(self, series: str) -> DefaultPolicy | None:
        """Return the first default policy whose glob matches the series."""
        matching = (default for default in self.defaults if not default.view and fnmatchcase(series, default.glob))
        return next(matching, None)

    def views_of(self, base: str) -> dict[str, DefaultPolicy]:
        """Return the configured views of a series that is not a view, in order and keyed by id.

        A view is omitted if its id would exceed the maximum length of a series id.
        """
        found: dict[str, DefaultPolicy] = {}
        for default in self.views:
            series = f"{base}{self.limits.member_separator}{default.view}"
            if fnmatchcase(base, default.glob) and len(series.encode()) <= wire.LARGEST_SERIES_BYTES:
                found.setdefault(series, default)
        return found

    def base_of(self, series: str) -> str | None:
        """Return the series with a configured view whose id is ``series``, or None if there is none."""
        if not self.views or self.limits.member_separator is None:
            return None
        base, separator, _ = series.rpartition(self.limits.member_separator)
        if not separator or series not in self.views_of(base) or self.base_of(base) is not None:
            return None
        return base

    def is_view(self, row: SeriesRow | None, series: str) -> bool:
        """Return whether an id belongs to a view, according to its row or, if there is no row, to the configuration."""
        return row.view if row is not None else self.base_of(series) is not None

    def of_views(self, row: SeriesRow | None, series: str) -> bool:
        """Return whether a series is a view, or has a view."""
        if row is not None and (row.view or row.views.begun):
            return True
        return bool(self.views) and (bool(self.views_of(series)) or self.base_of(series) is not None)

    def backward_loss(self, row: SeriesRow, timestamp_ms: int, spend_nano: int) -> float | None:
        """Return the backward loss after a step that spends, or None if the policy names no correlation.

        ``row`` is the row before the step. Guarantee: the result is at least the backward loss of the named correlation
        over all releases since the policy began to name it without interruption, in any versions (Cao et al. 2017,
        equation 13). If less is known, no loss fades. This applies if the configuration lacks the name, and from one
        period to the next.
        """
        name = row.policy.correlation
        if name is None:
            return None
        before, envelope = row.backward_loss or 0.0, self.correlations.get(name)
        if envelope is not None:
            before = faded(envelope, before, row.state.elapsed_steps(timestamp_ms // row.policy.step_ms))
        return before + (spend_nano + charge_nano(row.policy, row.state, timestamp_ms)) / NANO
