"""Rebuilds rows from the ledger and releases alone, by applying the worker's fold to published noisy values.

All contents of a row can be derived from releases, so a lost state table can be rebuilt as long as its ledger and
releases exist.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from stream_app.deciding.context import Context
from stream_app.deciding.members import Member, member_of
from stream_app.deciding.rows import NO_VIEWS, SeriesRow, policy_digest
from stream_app.deciding.succession import succeeding
from stream_app.deciding.views.agreement import since_version
from stream_app.formats import encoding, wire
from stream_app.privacy import fold
from stream_app.privacy.place import place, spent, unspent
from stream_app.privacy.policy import Policy, PolicyError, stored_policy_of
from stream_app.privacy.published import CloseEntry, LandmarksEntry
from stream_app.privacy.reason import Rejection
from stream_app.privacy.state import State

NO_LIFETIME = 2**200
"""Replaces the lifetime in a rebuild: the ledger contains only what was allowed when it was written."""
GIVEN_UP: Final = b""
"""Marks a release that no longer exists and whose loss was accepted."""
_WITHOUT_RELEASE = (
    "has no release with its hash; releases must not expire. If the release was lost for another reason, `recover "
    "--accept-lost-releases` gives up the step"
)
_OTHERWISE = "was written with a different `member_separator`: set it back"


class RebuildError(Exception):
    """Raised for an entry that does not follow from earlier ones; ``series`` and ``sequence`` identify it."""

    def __init__(self, series: str, sequence: int, problem: str) -> None:
        self.series, self.sequence = series, sequence
        super().__init__(f"series {series!r}, entry {sequence}: {problem}; run `audit` for details")


def restored(context: Context, row: SeriesRow | None, entry: bytes, releases: Mapping[str, bytes]) -> SeriesRow:
    """Return the row after a ledger entry, from the row before it (None for a series' first entry).

    ``releases`` maps a hash to release bytes, or to `GIVEN_UP`. An entry that the row already covers changes nothing.
    Raises `RebuildError` for an entry that does not follow from the row.
    """
    return _restored(context, row, wire.load(entry), releases)


def _restored(context: Context, row: SeriesRow | None, found: Any, releases: Mapping[str, bytes]) -> SeriesRow:
    series, sequence = found["series"], found["sequence"]
    if row is not None and sequence <= row.sequence:
        return row
    expected = (row.sequence + 1, row.previous) if row else (1, encoding.NO_HASH)
    if (sequence, found["previous"]) != expected:
        raise RebuildError(series, sequence, "does not follow the previous entry")
    if found["entry"] == "policy":
        moved = _adopted(context, row, found)
    elif row is None:
        raise RebuildError(series, sequence, "comes before any policy")
    else:
        moved = _moved(context, row, found, releases)
    return replace(moved, sequence=sequence, previous=found["hash"])


class RebuiltRows:
    """The rows that result from a ledger's entries, applied one by one; each chain must be in order.

    A person's limits come from the person's own chain, and reservations come from the first entries of the series.
    """

    def __init__(self, context: Context, rows: Mapping[str, SeriesRow], members: Mapping[str, Member]) -> None:
        """Begin with these rows, and with these persons, keyed by the names of their chains."""
        self.rows, self.members = dict(rows), dict(members)
        self._context, self._separator = context, context.limits.member_separator

    def take(self, entry: bytes, releases: Mapping[str, bytes]) -> None:
        """Apply an entry; ``releases`` and the error raised are as in `restored`."""
        found: Any = wire.load(entry)
        chain = found["series"]
        if found["entry"] == "member":
            self.members[chain] = self._capped(found)
            return
        before = self.rows.get(chain)
        row = self.rows[chain] = _restored(self._context, before, found, releases)
        if before is None and row.policy.collect is None:
            self._claim(row, found)
        if before is None and row.view:
            self._begun(row, found)

    def place(self, chain: str) -> tuple[int, str]:
        """Return the sequence number and hash of the last entry of a chain."""
        row = self.rows.get(chain) or self.members.get(chain)
        return (row.sequence, row.previous) if row else (0, encoding.NO_HASH)

    def _claim(self, row: SeriesRow, found: Any) -> None:
        claim_nano, separator = row.state.promise.claim_nano, self._separator
        if (claim_nano is None) if separator else (claim_nano is not None and row.policy.lifetime_nano is None):
            raise RebuildError(row.series, found["sequence"], _OTHERWISE)
        if separator is not None and claim_nano is not None:
            chain = member_of(row.series, separator) + separator
            self.members[chain] = self.members.get(chain, Member(chain)).with_claim(claim_nano)

    def _begun(self, row: SeriesRow, found: Any) -> None:
        """Record a view in its base's row; the base's first entry comes before the view's."""
        name, separator = row.series, self._separator
        base_of, _, view = name.rpartition(separator) if separator is not None else ("", "", "")
        base = self.rows.get(base_of)
        if base is None or base.view:
            raise RebuildError(name, found["sequence"], "belongs to a view without its base series")
        self.rows[name] = since_version(row, base)
        if view not in base.views.begun:
            self.rows[base_of] = replace(base, views=base.views.with_begun(view))

    def _capped(self, found: Any) -> Member:
        chain, sequence = found["series"], found["sequence"]
        member = self.members.get(chain, Member(chain))
        if sequence <= member.sequence:
            return member
        if self._separator is None or not chain.endswith(self._separator):
            raise RebuildError(chain, sequence, _OTHERWISE)
        if (sequence, found["previous"]) != (member.sequence + 1, member.previous):
            raise RebuildError(chain, sequence, "does not follow the previous entry")
        return member._replace(sequence=sequence, previous=found["hash"], cap_nano=found["cap_nano"])


def rebuild(context: Context, entries: Iterable[bytes], releases: Iterable[bytes]) -> dict[str, SeriesRow]:
    """Return the rows of all series of a ledger; the entries of each chain must be in order."""
    return rebuilt(context, entries, releases).rows


def rebuilt(context: Context, entries: Iterable[bytes], releases: Iterable[bytes]) -> RebuiltRows:
    """Return the rows of all series and persons of a ledger; the entries of each chain must be in order."""
    by_hash = {encoding.digest(release): release for release in releases}
    told = RebuiltRows(context, {}, {})
    for entry in entries:
        told.take(entry, by_hash)
    return told


def _adopted(context: Context, row: SeriesRow | None, found: Mapping[str, Any]) -> SeriesRow:
    series, sequence = found["series"], found["sequence"]
    try:
        policy = stored_policy_of(found["parameters"], found["policy"])
    except PolicyError as error:
        raise RebuildError(series, sequence, f"contains a policy that this version refuses ({error})") from None
    before, state = (row.policy, row.state) if row else (None, None)
    policy, default = succeeding(row, policy) if row else _first(context, policy)
    claim_nano = None if row else found.get("lifetime_nano")
    lifetime_nano = NO_LIFETIME if claim_nano is None else claim_nano
    adopted = fold.adopt(policy, before, state, lifetime_nano, may_weaken=True, claims=claim_nano is not None)
    if isinstance(adopted, Rejection):
        raise RebuildError(series, sequence, f"contains a policy version that was refused ({adopted.reason})")
    loss = row.backward_loss if row else None
    view, views = (row.view, row.views) if row else (found.get("view", False), NO_VIEWS)
    return SeriesRow(series, series.encode(), 0, "", policy, default, adopted.state, loss, view=view, views=views)


def _first(context: Context, policy: Policy) -> tuple[Policy, str]:
    """Return a series' first policy, and the name of the default policy that it equals, if any."""
    digest = policy_digest(policy)
    shared = next((default for default in context.defaults if default.digest == digest), None)
    return (shared.policy, digest) if shared else (policy, "")


def _moved(context: Context, row: SeriesRow, found: Mapping[str, Any], releases: Mapping[str, bytes]) -> SeriesRow:
    series, sequence, policy = row.series, found["sequence"], row.policy
    outcome: fold.StateChange[LandmarksEntry] | fold.StateChange[CloseEntry] | Rejection
    match found["entry"]:
        case "release":
            state = _decided(row, found, releases)
            loss = context.backward_loss(row, found["timestamp"], found.get("epsilon_nano", 0))
            return replace(row, state=state, backward_loss=loss, open_steps=None, open_units=None)
        case "dummies":
            return _disguised(row, found)
        case "landmarks":
            outcome = fold.register(policy, row.state, [(start, end) for start, end in found["add"]])
        case "intrusion":
            return row  # no budget changes; open data are lost with the memory anyway
        case "close":
            outcome = fold.close(policy, row.state)
        case other:
            raise RebuildError(series, sequence, f"has kind {other!r}, which this version does not know")
    if isinstance(outcome, Rejection):
        raise RebuildError(series, sequence, f"was refused ({outcome.reason})")
    default = row.default if outcome.state.promise.landmarks is policy.landmarks else ""
    return replace(row, state=outcome.state, default=default)


def _disguised(row: SeriesRow, found: Mapping[str, Any]) -> SeriesRow:
    policy = row.policy.with_fixed_landmarks()
    outcome = fold.disguise(policy, row.state, found["method"], found["charged_nano"])
    if isinstance(outcome, Rejection):
        raise RebuildError(row.series, found["sequence"], f"was refused ({outcome.reason})")
    # The preceding policy entry may match a default policy, but drawn dummies make it the series' own.
    return replace(row, policy=policy, default="", state=outcome.state)


def _decided(row: SeriesRow, found: Mapping[str, Any], releases: Mapping[str, bytes]) -> State:
    policy, state = row.policy, row.state
    index = found["timestamp"] // policy.step_ms
    at = place(policy, state, index)
    if found["decision"] != "perturbed":
        return fold.advance(policy, state, index, at, unspent(policy, state, index), None, 0).state
    release = releases.get(found["release"])
    if release is None:
        raise RebuildError(row.series, found["sequence"], _WITHOUT_RELEASE)
    spend_nano = found["epsilon_nano"]
    guard = spent(policy, state, index, at, spend_nano)
    if guard is None and policy.windows is None and not state.guard.window.whole:
        state = replace(state, guard=state.guard.unwaiting())
        guard = spent(policy, state, index, at, spend_nano)
    if guard is None:
        raise RebuildError(row.series, found["sequence"], "spends more than the guard allows")
    if release == GIVEN_UP:
        # PRIVACY: the epsilon stays spent, whoever knows the release. All later values are computed from the known
        # releases, so the guarantee holds for them. The step counts as the last one that spent, for steps that wait for
        # a window.
        given_up = fold.advance(policy, state, index, at, guard, None, 0).state
        return replace(given_up, latest=replace(given_up.latest, source_ms=found["timestamp"]))
    published: Any = wire.load(release)
    measurement, estimate = policy.kind.released(published)
    moved = fold.advance(policy, state, index, at, guard, measurement, spend_nano).state
    return replace(moved, latest=replace(moved.latest, estimate=estimate))
