"""Rows from ledger and releases alone: the same fold, fed with published measurements instead of raw values.

What a row holds follows from releases, so nothing is lost with a state table as long as its ledger and releases live.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from stream_app.deciding.context import Context
from stream_app.deciding.rows import SeriesRow, policy_digest
from stream_app.deciding.succession import succeeding
from stream_app.formats import encoding, wire
from stream_app.privacy import fold
from stream_app.privacy.place import place, spent, unspent
from stream_app.privacy.policy import Policy, PolicyError, stored_policy_of
from stream_app.privacy.published import CloseEntry, LandmarksEntry
from stream_app.privacy.reason import Refused
from stream_app.privacy.state import State

NO_LIFETIME = 2**200
"""What the ledger holds was allowed when it was written: no cap applies again."""


class RebuildError(Exception):
    """An entry that does not follow from the ones before it; ``series`` and ``sequence`` name it."""

    def __init__(self, series: str, sequence: int, problem: str) -> None:
        self.series, self.sequence = series, sequence
        super().__init__(f"series {series!r}, entry {sequence}: {problem}; run `audit` to see what is wrong")


def restored(context: Context, row: SeriesRow | None, entry: bytes, releases: Mapping[str, bytes]) -> SeriesRow:
    """Return the row after a ledger entry, from the row before it (None: the first entry of its series).

    ``releases`` finds release bytes by their hash. An entry that the row already covers changes nothing; raises
    `RebuildError` for one that does not follow.
    """
    found: Any = wire.load(entry)
    series, sequence = found["series"], found["sequence"]
    if row is not None and sequence <= row.sequence:
        return row
    expected = (row.sequence + 1, row.previous) if row else (1, encoding.NO_HASH)
    if (sequence, found["previous"]) != expected:
        raise RebuildError(series, sequence, "does not follow the entry before it")
    if found["entry"] == "policy":
        moved = _adopted(context, row, found)
    elif row is None:
        raise RebuildError(series, sequence, "comes before any policy")
    else:
        moved = _moved(context, row, found, releases)
    return moved.replaced(sequence=sequence, previous=found["hash"])


def rebuild(context: Context, entries: Iterable[bytes], releases: Iterable[bytes]) -> dict[str, SeriesRow]:
    """Return the rows of all series of a ledger; entries of a series stand in order."""
    by_hash = {encoding.digest(release): release for release in releases}
    rows: dict[str, SeriesRow] = {}
    for entry in entries:
        found: Any = wire.load(entry)
        rows[found["series"]] = restored(context, rows.get(found["series"]), entry, by_hash)
    return rows


def _adopted(context: Context, row: SeriesRow | None, found: Mapping[str, Any]) -> SeriesRow:
    series, sequence = found["series"], found["sequence"]
    try:
        policy = stored_policy_of(found["parameters"], found["policy"])
    except PolicyError as error:
        raise RebuildError(series, sequence, f"holds a policy that is refused today ({error})") from None
    before, state = (row.policy, row.state) if row else (None, None)
    policy, default = succeeding(row, policy) if row else _first(context, policy)
    adopted = fold.adopt(policy, before, state, NO_LIFETIME, may_weaken=True)
    if isinstance(adopted, Refused):
        raise RebuildError(series, sequence, f"holds a policy version that was refused ({adopted.reason})")
    loss = row.backward_loss if row else None
    return SeriesRow(series, series.encode(), 0, "", policy, default, adopted.state, loss)


def _first(context: Context, policy: Policy) -> tuple[Policy, str]:
    """Return the first policy of a series, and its name where a default policy is the same."""
    digest = policy_digest(policy)
    shared = next((default for default in context.defaults if default.digest == digest), None)
    return (shared.policy, digest) if shared else (policy, "")


def _moved(context: Context, row: SeriesRow, found: Mapping[str, Any], releases: Mapping[str, bytes]) -> SeriesRow:
    series, sequence, policy = row.series, found["sequence"], row.policy
    outcome: fold.Moved[LandmarksEntry] | fold.Moved[CloseEntry] | Refused
    match found["entry"]:
        case "release":
            state = _decided(row, found, releases)
            loss = context.backward_loss(row, found["timestamp"], found.get("epsilon_nano", 0))
            return SeriesRow(series, row.key, sequence, row.previous, policy, row.default, state, loss)
        case "dummies":
            return _disguised(row, found)
        case "landmarks":
            outcome = fold.register(policy, row.state, [(start, end) for start, end in found["add"]])
        case "intrusion":
            return row  # it moves no budget; what was open is lost with the memory anyway
        case "close":
            outcome = fold.close(policy, row.state)
        case other:
            raise RebuildError(series, sequence, f"is of kind {other!r}, which this version does not know")
    if isinstance(outcome, Refused):
        raise RebuildError(series, sequence, f"was refused ({outcome.reason})")
    default = row.default if outcome.state.promise.landmarks is policy.landmarks else ""
    return row.replaced(state=outcome.state, default=default)


def _disguised(row: SeriesRow, found: Mapping[str, Any]) -> SeriesRow:
    policy = row.policy.with_fixed_landmarks()
    outcome = fold.disguise(policy, row.state, found["method"], found["charged_nano"])
    if isinstance(outcome, Refused):
        raise RebuildError(row.series, found["sequence"], f"was refused ({outcome.reason})")
    # The policy entry before it may have matched a default policy: what was drawn is the series' own.
    return row.replaced(policy=policy, default="", state=outcome.state)


def _decided(row: SeriesRow, found: Mapping[str, Any], releases: Mapping[str, bytes]) -> State:
    policy, state = row.policy, row.state
    index = found["timestamp"] // policy.step_ms
    at = place(policy, state, index)
    if found["decision"] != "perturbed":
        return fold.advance(policy, state, index, at, unspent(policy, state, index), None, 0).state
    release = releases.get(found["release"])
    if release is None:
        raise RebuildError(row.series, found["sequence"], "has no release with its hash; releases must not expire")
    published: Any = wire.load(release)
    spend_nano = found["epsilon_nano"]
    guard = spent(policy, state, index, at, spend_nano)
    if guard is None:
        raise RebuildError(row.series, found["sequence"], "spends more than the guard allows")
    measurement = policy.kind.read(published["measurement"])
    moved = fold.advance(policy, state, index, at, guard, measurement, spend_nano).state
    # What was published stays: today's filter may differ from the one that made the estimate.
    return moved.replaced(estimate=policy.kind.read(published["value"]))
