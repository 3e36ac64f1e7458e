"""Records that let a series or a person start over in other topics, and the reasons why each may be refused.

A worker rejects records one by one. If it rejected one record of a series, the series would start over with only the
other records. So `faults` first processes all records in memory, as a worker would.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final, NamedTuple

from stream_app.deciding.collection import Collection
from stream_app.deciding.context import Context, Limits
from stream_app.deciding.decision import decide
from stream_app.deciding.members import Member, MemberChange
from stream_app.deciding.outcome import ProcessedRecord, RejectedRecord
from stream_app.deciding.rows import SeriesRow
from stream_app.formats import wire
from stream_app.formats.records import InputRecord
from stream_app.privacy.kinds import substitute_fault
from stream_app.privacy.landmarks import Grid, aligned
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.policy import PolicyError, stored_policy_of
from stream_app.privacy.reason import REASONS, Reason
from stream_app.privacy.values import NANO, nano
from stream_app.words.amount import amount

OF_STATISTICS: Final = frozenset({"statistic", "from", "to", "edges", "by", "transitions"})
"""Members of `value` that occur only if steps contain units."""


def renewed(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Return whether ``after`` renews ``before``: whether they are equal except for passed landmarks and bounds."""
    old, new = before.get("renew") or [], after.get("renew") or []
    return len(new) < len(old) and new == old[len(old) - len(new) :] and _lasting(before) == _lasting(after)


def _lasting(parameters: Mapping[str, Any]) -> dict[str, Any]:
    protection = {name: part for name, part in parameters["protection"].items() if name != "landmarks"}
    return {name: part for name, part in parameters.items() if name != "renew"} | {"protection": protection}


def united(spans: list[Any], protection: Mapping[str, Any], begin_ms: int) -> list[Any]:
    """Return the landmarks from ``begin_ms`` onward in the shortest form for a record, listing each step once.

    Under a protection with units, the landmarks are units.
    """
    grid = Grid(protection.get("unit") or protection.get("step", 1), protection.get("offset") or 0)
    read = [tuple(span) if isinstance(span, list) else span for span in spans]
    found = map(grid.span_of, aligned(read, grid.length_ms, grid.origin_ms).intervals)
    kept = [(max(start, begin_ms), stop) for start, stop in found if stop > begin_ms]
    return [start if stop == start + grid.length_ms else [start, stop] for start, stop in kept]


def adoptable(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters without a substitute that hides nothing; a policy with such a substitute is not adopted."""
    value = parameters["value"]
    if "invalid" in value:
        try:
            refused = substitute_fault(stored_policy_of(parameters, 1).kind)
        except PolicyError:
            return dict(parameters)  # the worker that adopts them reports the error
        if refused:
            return {**parameters, "value": {name: part for name, part in value.items() if name != "invalid"}}
    return dict(parameters)


Record = dict[str, Any]


class RemainingBudget(NamedTuple):
    """The remaining budget of one series, and the records that let it start over."""

    series: str
    records: tuple[Record, ...]  # in sending order; empty if the series gets nothing
    epsilon_nano: int  # the new policy's
    begin_ms: int  # steps are processed from here on
    why: str  # why there are no records, or further conditions
    by_hand: bool  # whether its records must come from someone who knows more than the ledger
    together_nano: int
    """The possible loss between histories that differ both before and after the move, as each policy allows.

    At levels ``event`` and ``w-event`` this loss can exceed the lifetime and a person's limit. Those limits apply to
    histories that differ in one event or window across both sides.
    """

    def __str__(self) -> str:
        if not self.records:
            return f"{self.series}: {self.why}{'; you must decide' if self.by_hand else ''}"
        return f"{self.series}: epsilon {amount(self.epsilon_nano)} remains{self.why}"

    def document(self) -> Record:
        """Return the remaining budget in the form used by ``--json``."""
        return self._asdict() | {"message": str(self)}


def of_view(found: RemainingBudget, used_nano: int, lifetime_nano: int) -> RemainingBudget:
    """Return the remaining budget of a view that has used ``used_nano``.

    The result has no records, because records would turn the view into an ordinary series. Without a fence, steps of
    the view may be processed again, so the used and the remaining budget are added at every level.
    """
    left_nano = max(0, min(found.epsilon_nano, lifetime_nano - used_nano))
    why = (
        f"a view with epsilon {epsilon_of(left_nano)} remaining: a default policy recreates it after its series is "
        "recreated"
    )
    return RemainingBudget(
        found.series, (), left_nano, found.begin_ms, why, by_hand=True, together_nano=used_nano + left_nano
    )


def caps_left(
    caps: Mapping[str, int], claims: Mapping[str, int], series: Iterable[RemainingBudget]
) -> Iterator[RemainingBudget]:
    """Yield each person's new limit: the unreserved part of the old one plus the new reservations.

    ``caps`` are the limits by chain, ``claims`` the reservations by series, and ``series`` the remaining budgets of all
    series. The first record of a series is a policy. The policy's epsilon is what the series reserves if no lifetime is
    configured.
    """
    rest, before = dict(caps), dict.fromkeys(caps, 0)
    separators = {chain[-1] for chain in caps}
    for separator in separators:  # one, unless ledgers of several installations were mixed
        for name, claim_nano in claims.items():
            chain = name.partition(separator)[0] + separator
            if chain in rest:
                rest[chain] -= claim_nano
        for one in series:
            chain = one.series.partition(separator)[0] + separator
            if chain in rest and claims[one.series]:
                anew_nano = nano(one.records[0]["epsilon"]) if one.records else one.epsilon_nano
                rest[chain] += anew_nano
                before[chain] += one.together_nano - anew_nano
    for chain, left_nano in rest.items():
        epsilon_nano = max(left_nano, 0)  # 0 is a limit too; without one, series could reserve any amount
        record = {"type": "member", "member": chain[:-1], "epsilon": epsilon_of(epsilon_nano)}
        together_nano = epsilon_nano + before[chain]
        why = " for reservations by the person's series" + exceeding(together_nano, "limit", caps[chain])
        yield RemainingBudget(chain, (record,), epsilon_nano, 0, why, by_hand=False, together_nano=together_nano)


def exceeding(together_nano: int, bound: str, bound_nano: int) -> str:
    """Return a message if the loss over both sides of the move exceeds a bound, else ""."""
    if together_nano <= bound_nano:
        return ""
    lost = f"histories that differ both before and after the move lose up to {amount(together_nano)} in total"
    return f"; {lost}, above the {bound} of {amount(bound_nano)}"


def epsilon_of(amount_nano: int) -> float:
    """Convert nano-epsilon to epsilon, in the form used in records."""
    return float(Decimal(amount_nano) / NANO)


_SECRET = bytes(32)  # replaces the new key: no noise is drawn


def faults(found: Iterable[RemainingBudget], limits: Limits, now_ms: int) -> Iterator[str]:
    """For each series, yield a message about the first record that would not be accepted as intended.

    The message gives the reason and the remedy. ``limits`` are the receiving workers' limits, and ``now_ms`` is when
    the broker would append the records.
    """
    context, collection = Context(KeyRing("", 0, _SECRET), limits=limits), Collection(_SECRET)
    members: dict[str, Member] = {}
    for one in found:
        row: SeriesRow | None = None
        for record in one.records:
            value = wire.dump(record)
            sent = InputRecord("", 0, 0, now_ms, None, value)
            outcome = decide(context, lambda _, row=row: row, collection, sent, members.get)  # type: ignore[misc]
            if isinstance(outcome, RejectedRecord):
                yield f"{one.series}: {_name(record)} would be rejected as {_refused(outcome.reason, record, limits)}"
                break
            joined = outcome.joined if isinstance(outcome, ProcessedRecord) else outcome
            if isinstance(joined, MemberChange):
                members[joined.member.chain] = joined.member
            if isinstance(outcome, MemberChange):
                continue
            if not isinstance(outcome, ProcessedRecord) or outcome.spent_nano:
                yield f"{one.series}: {_name(record)} would take a measurement; report this as a bug in `left`"
                break
            row = outcome.row


def _name(record: Record) -> str:
    if "member" in record:
        return f"the person's limit (epsilon {record['epsilon']})"
    if "version" in record:
        return f"version {record['version']} of its policy (epsilon {record['epsilon']})"
    return f"the reading that marks earlier steps as processed (timestamp {record['timestamp']})"


def _refused(reason: Reason, record: Record, limits: Limits) -> str:
    """Return the reason and the remedy: a configuration change if one is needed, else the reason's own remedy."""
    remedy = REASONS[reason].remedy
    if reason == "future":
        after_ms = record["timestamp"] - (limits.max_future_ms or 0)
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=after_ms)
        remedy = f"create and send the records after {moment.isoformat()}, or raise `max_future_ms`"
    elif reason == "budget-cap" and "member" in record:
        remedy = "raise or unset `member_epsilon` until all records are accepted"
    elif reason == "budget-cap":
        capped = limits.max_epsilon_nano is not None and record["epsilon"] * 10**9 > limits.max_epsilon_nano
        remedy = "raise `max_epsilon` until all records are accepted" if capped else "raise or unset `lifetime_epsilon`"
    elif reason == "malformed" and "member" in record:
        remedy = "set `member_separator` to the separator of the ledger"
    elif reason == "member-cap":
        remedy = "unset `lifetime_epsilon` so that each series reserves the epsilon of its first policy"
    elif reason == "weaker-policy":
        remedy = "set `accept_weaker_policies` until all records are accepted"
    elif reason == "invalid-policy" and not limits.accept_policies:
        remedy = "set `accept_policies`"
    return f"{reason} ({REASONS[reason].meaning}): {remedy}"
