"""A series' row: its place in the hash chain, its policy and its state; and the bytes of it in the state table.

Table keys: ``s`` + series holds chain, state and backward loss, written at every change; ``p`` + series its own policy
and landmarks, written when those change; ``d`` + name a default policy, shared by all series under it: its digest, and
for what renewed it a dot and the digest of that. They hold released values, counts and budgets only; what open steps
of units have read lies in rows of its own, sealed (`units.sealed`).
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from stream_app.deciding.units.opened import OpenUnits
from stream_app.formats import layout, wire
from stream_app.formats.layout import StoredRow
from stream_app.privacy.collected.steps import OpenSteps
from stream_app.privacy.guard import NO_WINDOW, Window
from stream_app.privacy.landmarks import LandmarkSet
from stream_app.privacy.policy import Policy, stored_policy_of
from stream_app.privacy.state import Latest, Promise, State, shared_clock, shared_guard
from stream_app.privacy.values import ReleasedCells, frozen

DIGEST_BYTES = 16
MOST_TWICE = 32_768
"""Landmark intervals that a row has both in its policy and as those of its state; with more it has the latter alone.

A renewed policy names late landmarks too: 65,536 of them twice would make a row that no topic takes.
"""


class Views(NamedTuple):
    """Which views a series has: those that began, and those that were refused and told so; in that order."""

    begun: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()

    def with_begun(self, name: str) -> "Views":
        """Return them with one more that began."""
        return Views((*self.begun, name), tuple(one for one in self.refused if one != name))

    def with_refused(self, name: str) -> "Views":
        """Return them with one more that was refused."""
        return Views(self.begun, (*self.refused, name))


NO_VIEWS: Final = Views()


@frozen
class SeriesRow:
    """One series between two records. A value: replaced, never edited."""

    series: str
    key: bytes  # the series in UTF-8: the record key
    sequence: int  # of its last ledger entry; 0 before the first
    previous: str  # hash of that entry
    policy: Policy
    default: str  # name of the default policy that rules; empty when the series has its own
    state: State
    backward_loss: float | None = None  # at the last decided step; None: the policy named no correlation
    open_steps: OpenSteps | None = None  # of collected data; None: nothing is open
    open_units: OpenUnits | None = None  # of statistics of units; None: nothing was read yet
    view: bool = False  # whether it is a view of another series
    views: Views = NO_VIEWS  # of it

    def id_of(self, view: str, separator: str | None) -> str:
        """Return the id of one of its views."""
        return f"{self.series}{separator}{view}"


Lookup = Callable[[str], SeriesRow | None]
"""Returns the row of a series, None if it has none yet."""


def dump(row: SeriesRow, before: SeriesRow | None, shared: set[str]) -> list[tuple[bytes, bytes]]:
    """Return the table rows to write so that ``row`` replaces ``before`` (None: nothing stored).

    ``shared`` holds the digests of default policies that were returned already, and takes up new ones.
    """
    pairs = [(b"s" + row.key, wire.dump(layout.written(stored_of(row))))]
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
    """Return the stored row of ``series``, or None; ``get`` reads the state table.

    ``defaults`` holds the default policies that were read already, by digest, and takes up new ones.
    """
    stored = get(b"s" + series.encode())
    return None if stored is None else load_read(get, series, stored, defaults)


def load_read(
    get: Callable[[bytes], bytes | None], series: str, stored: bytes, defaults: dict[str, Policy]
) -> SeriesRow:
    """Return the row of ``series`` whose stored bytes were read already; the rest is as in `load`."""
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
    """Return the backward loss in the bytes of a stored row (its key begins with ``s``)."""
    return layout.read(row).backward_loss


def policy_bytes(policy: Policy) -> bytes:
    """Return the bytes of a policy without its landmarks' later additions."""
    return wire.dump(_policy_document(policy))


def policy_digest(policy: Policy) -> str:
    """Return the digest that names a default policy in the table."""
    return blake2b(policy_bytes(policy), digest_size=DIGEST_BYTES).hexdigest()


def first_default(name: str) -> str:
    """Return the digest of the default policy from which the renewals came that have this name."""
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
    """Return the default policy that has a name in the table, as `load` finds it; raises `LookupError` without one."""
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
    """Return a row as it is stored; its policy and landmarks stand elsewhere."""
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
        open_steps=None if opened is None else tuple(opened),  # JSON knows no named tuples
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
    """Return the row that is stored so; ``promise`` is that of ``stored`` with the landmarks of the series."""
    window = _window(stored)
    if window.opens_ms and policy.windows is None:
        window = window.of_single_steps(stored.source_ms)
    state = State(
        shared_guard(stored.budget_nano, stored.landmark_spent_nano, stored.regular_peak_nano, window),
        promise,
        shared_clock(
            stored.period_start_ms, stored.decided_ms, stored.decided_end_ms, stored.first_step, stored.last_step
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


def _window(stored: StoredRow) -> Window:
    if not (stored.opens_ms or stored.spent_end_ms or stored.reach_ms or stored.spends or stored.late or stored.whole):
        return NO_WINDOW  # one object for all that have none
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
