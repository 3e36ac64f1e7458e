"""A series' row: its chain position, its policy, its state, and its bytes in the state table.

Table keys: ``s`` + series contains chain, state and backward loss, and is written at every change. ``p`` + series
contains the series' own policy and landmarks, and is written when they change. ``d`` + name contains a default policy,
shared by all series that use it. The name is the policy's digest, followed for a renewal by a dot and the renewal's
digest. These rows contain only released values, counts and budgets. Readings of open unit steps are in separate, sealed
rows (`units.sealed`).
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from stream_app.deciding.units.opened import OpenUnits
from stream_app.formats import layout, wire
from stream_app.formats.layout import StoredRow
from stream_app.privacy.collected.steps import OpenSteps
from stream_app.privacy.guard import NO_WINDOW, Guard, Window
from stream_app.privacy.landmarks import LandmarkSet
from stream_app.privacy.policy import Policy, stored_policy_of
from stream_app.privacy.state import Clock, Latest, Promise, State
from stream_app.privacy.values import ReleasedCells, frozen

DIGEST_BYTES = 16
MOST_TWICE = 32_768
"""The most landmark intervals that a row stores both in its policy and in its state.

If there are more, the row stores them only in the state. A renewed policy also names late landmarks: storing 65,536 of
them twice would make a row too large for any topic.
"""


class Views(NamedTuple):
    """The views of a series: those that have begun, and those whose refusal was reported."""

    begun: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()

    def with_begun(self, name: str) -> "Views":
        """Return the views with ``name`` added to those that began."""
        return Views((*self.begun, name), tuple(one for one in self.refused if one != name))

    def with_refused(self, name: str) -> "Views":
        """Return the views with ``name`` added to those that were refused."""
        return Views(self.begun, (*self.refused, name))


NO_VIEWS: Final = Views()


@frozen
class SeriesRow:
    """The state of one series between two records, as an immutable value."""

    series: str
    key: bytes  # UTF-8 series id: the record key
    sequence: int  # of the last ledger entry; 0 before the first
    previous: str  # hash of that entry
    policy: Policy
    default: str  # name of the default policy in force; empty for the series' own policy
    state: State
    backward_loss: float | None = None  # at the last processed step; None if policy has no correlation
    open_steps: OpenSteps | None = None  # of collected data; None if none is open
    open_units: OpenUnits | None = None  # of unit statistics; None without readings
    view: bool = False  # whether it is a view of another series
    views: Views = NO_VIEWS  # of it

    def id_of(self, view: str, separator: str | None) -> str:
        """Return the id of one of the series' views."""
        return f"{self.series}{separator}{view}"


Lookup = Callable[[str], SeriesRow | None]
"""Finds the row of a series; returns None if the series has no row yet."""


ROWS: Final = b"s"
"""The prefix of the table keys of series' rows."""


def table_key(series: str) -> bytes:
    """Return the table key of a series' row."""
    return ROWS + series.encode()


def dump(row: SeriesRow, before: SeriesRow | None, shared: set[str]) -> list[tuple[bytes, bytes]]:
    """Return the table rows to write so that ``row`` replaces ``before`` (None if nothing is stored).

    ``shared`` contains the digests of default policies already returned; new ones are added to it.
    """
    pairs = [(table_key(row.series), wire.dump(layout.written(stored_of(row))))]
    if (
        before is None
        or before.policy is not row.policy
        or before.state.promise.landmarks is not row.state.promise.landmarks
    ):
        if row.default:
            if row.default not in shared:
                shared.add(row.default)
                pairs.append((b"d" + row.default.encode(), policy_bytes(row.policy)))
        else:
            own: dict[str, object] = {
                "policy": _own_document(row.policy),
                "landmarks": row.state.promise.landmarks.intervals,
            }
            if row.policy.fixed:
                own["fixed"] = True
            pairs.append((b"p" + row.key, wire.dump(own)))
    return pairs


def load(get: Callable[[bytes], bytes | None], series: str, defaults: dict[str, Policy]) -> SeriesRow | None:
    """Return the stored row of ``series``, or None if there is none; ``get`` reads the state table.

    ``defaults`` caches the default policies already read, by digest; new ones are added to it.
    """
    stored = get(table_key(series))
    return None if stored is None else load_read(get, series, stored, defaults)


def load_read(
    get: Callable[[bytes], bytes | None], series: str, stored: bytes, defaults: dict[str, Policy]
) -> SeriesRow:
    """Return the row of ``series`` like `load`, but from stored bytes that were already read."""
    found = layout.read(stored)
    if found.default:
        policy = default_policy(get, found.default, defaults)
        landmarks = policy.landmarks
    else:
        own = get(b"p" + series.encode())
        if own is None:
            raise LookupError("state table: the policy of a stored series is missing; run `recover`")
        policy, landmarks = _own_policy(own)
    promise = Promise(
        landmarks=landmarks,
        spare_left=found.spare_left,
        prior_nano=found.prior_nano,
        first_budget_nano=found.first_budget_nano,
        claim_nano=found.claim_nano,
    )
    return row_of(series, found, policy, promise)


def stored_loss(row: bytes) -> float | None:
    """Return the backward loss from the bytes of a stored row, whose key begins with ``s``."""
    return layout.read(row).backward_loss


def policy_bytes(policy: Policy) -> bytes:
    """Return the bytes of a policy, without landmarks that were added later."""
    return wire.dump(_policy_document(policy))


def policy_digest(policy: Policy) -> str:
    """Return the digest that names a default policy in the table."""
    return blake2b(policy_bytes(policy), digest_size=DIGEST_BYTES).hexdigest()


def first_default(name: str) -> str:
    """Return the digest of the default policy whose renewals have this name."""
    return name.partition(".")[0]


def _policy_document(policy: Policy) -> dict[str, object]:
    return {"version": policy.version, "parameters": policy.parameters}


def _own_document(policy: Policy) -> dict[str, object]:
    protection = policy.parameters["protection"]
    if len(policy.landmarks.intervals) <= MOST_TWICE or not isinstance(protection, Mapping):
        return _policy_document(policy)
    parameters = {**policy.parameters, "protection": {**protection, "landmarks": []}}
    return {"version": policy.version, "parameters": parameters}


def default_policy(get: Callable[[bytes], bytes | None], digest: str, defaults: dict[str, Policy]) -> Policy:
    """Return the default policy with this name in the table, like `load`; raise `LookupError` if it is absent."""
    if digest in defaults:
        return defaults[digest]
    stored = get(b"d" + digest.encode())
    if stored is None:
        raise LookupError(f"state table: the default policy {digest} of a stored series is missing; run `recover`")
    document: Any = wire.load(stored)
    return defaults.setdefault(digest, stored_policy_of(document["parameters"], document["version"]))


@lru_cache(maxsize=4096)
def _own_policy(stored: bytes) -> tuple[Policy, LandmarkSet]:
    document: Any = wire.load(stored)
    policy = stored_policy_of(document["policy"]["parameters"], document["policy"]["version"])
    if document.get("fixed"):
        policy = policy.with_fixed_landmarks()
    return policy, LandmarkSet(tuple((first, end) for first, end in document["landmarks"]))


def stored_of(row: SeriesRow) -> StoredRow:
    """Return a row in its stored form; its policy and landmarks are stored separately."""
    state, opened = row.state, row.open_steps
    guard, promise, clock, latest = state.guard, state.promise, state.clock, state.latest
    window = guard.window
    return StoredRow(
        sequence=row.sequence,
        previous=row.previous,
        default=row.default,
        budget_nano=guard.budget_nano,
        landmark_spent_nano=guard.landmark_spent_nano,
        regular_peak_nano=guard.regular_peak_nano,
        spare_left=promise.spare_left,
        prior_nano=promise.prior_nano,
        first_budget_nano=promise.first_budget_nano,
        period_start_ms=clock.period_start_ms,
        decided_ms=clock.decided_ms,
        decided_end_ms=clock.decided_end_ms,
        first_step=clock.first_step,
        last_step=clock.last_step,
        rate_nano=latest.rate_nano,
        source_ms=latest.source_ms,
        measurement=latest.measurement,
        estimate=latest.estimate,
        level=latest.level,
        closed=state.closed,
        backward_loss=row.backward_loss,
        open_steps=None if opened is None else tuple(opened),  # JSON has no named tuples
        opens_ms=window.opens_ms,
        spent_end_ms=window.spent_end_ms,
        reach_ms=window.reach_ms,
        spends=window.spends,
        late=(window.peak_nano, *(window.last or ())) if window.peak_nano or window.last else None,
        claim_nano=promise.claim_nano,
        whole=window.whole,
        open_units=None if row.open_units is None else row.open_units.written(),
        view=row.view,
        views=None if row.views == NO_VIEWS else tuple(row.views),
    )


def row_of(series: str, stored: StoredRow, policy: Policy, promise: Promise) -> SeriesRow:
    """Return the row from its stored form; ``promise`` belongs to ``stored`` and the series' landmarks."""
    window = _window(stored)
    if window.opens_ms and policy.windows is None:
        window = window.of_single_steps(stored.source_ms)
    state = state_in(stored, promise, window).compact()
    opened = None
    if stored.open_steps is not None:
        first, offsets = stored.open_steps
        opened = OpenSteps(first, tuple(offsets))
    return SeriesRow(
        series,
        series.encode(),
        stored.sequence,
        stored.previous,
        policy,
        stored.default,
        state,
        stored.backward_loss,
        opened,
        None if stored.open_units is None else OpenUnits.read(stored.open_units),
        stored.view,
        NO_VIEWS if stored.views is None else Views(*map(tuple, stored.views)),
    )


def state_in(stored: StoredRow, promise: Promise, window: Window = NO_WINDOW) -> State:
    """Return the state in a stored row of one series, or in the columns of many."""
    return State(
        Guard(stored.budget_nano, stored.landmark_spent_nano, stored.regular_peak_nano, window),
        promise,
        Clock(
            period_start_ms=stored.period_start_ms,
            decided_ms=stored.decided_ms,
            decided_end_ms=stored.decided_end_ms,
            first_step=stored.first_step,
            last_step=stored.last_step,
        ),
        Latest(
            source_ms=stored.source_ms,
            measurement=ReleasedCells(tuple(stored.measurement)),
            estimate=ReleasedCells(tuple(stored.estimate)),
            rate_nano=stored.rate_nano,
            level=tuple(stored.level),
        ),
        closed=stored.closed,
    )


def _window(stored: StoredRow) -> Window:
    if not (stored.opens_ms or stored.spent_end_ms or stored.reach_ms or stored.spends or stored.late or stored.whole):
        return NO_WINDOW  # shared by all empty windows
    peak_nano, *last = stored.late or (0,)
    return Window(
        opens_ms=stored.opens_ms,
        spent_end_ms=stored.spent_end_ms,
        reach_ms=stored.reach_ms,
        spends=tuple((step, spend) for step, spend in stored.spends),
        peak_nano=peak_nano,
        last=(last[0], last[1]) if last else None,
        whole=stored.whole,
    )
