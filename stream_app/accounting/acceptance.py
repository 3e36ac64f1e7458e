"""Whether new workers would accept the records of ``left``: they are decided in memory as a worker would.

A worker refuses records one by one, so a series of which one record is refused would begin anew with the others alone.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from stream_app.accounting.anew import Left, Record
from stream_app.deciding.context import Context, Limits
from stream_app.deciding.counters import Collection
from stream_app.deciding.decision import decide
from stream_app.deciding.members import Joined, Member
from stream_app.deciding.outcome import Decided, Rejected
from stream_app.deciding.rows import SeriesRow
from stream_app.formats import wire
from stream_app.formats.records import InputRecord
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.reason import REASONS, Reason

_SECRET = bytes(32)
"""Stands for the new key: no noise is drawn."""


def faults(found: Iterable[Left], limits: Limits, now_ms: int) -> Iterator[str]:
    """Yield the first record of each series that is not accepted as it is meant, why, and the remedy.

    ``limits`` are those of the workers that get the records, ``now_ms`` is when the broker would append them.
    """
    context, collection = Context(KeyRing("", 0, _SECRET), limits=limits), Collection(_SECRET)
    members: dict[str, Member] = {}
    for one in found:
        row: SeriesRow | None = None
        for record in one.records:
            value = wire.dump(record)
            sent = InputRecord("", 0, 0, now_ms, None, value)
            outcome = decide(context, lambda _, row=row: row, collection, sent, members.get)  # type: ignore[misc]
            if isinstance(outcome, Rejected):
                yield f"{one.series}: {_name(record)} would be {_refused(outcome.reason, record, limits)}"
                break
            joined = (
                outcome if isinstance(outcome, Joined) else outcome.joined if isinstance(outcome, Decided) else None
            )
            if joined is not None:
                members[joined.member.chain] = joined.member
            if isinstance(outcome, Joined):
                continue
            if not isinstance(outcome, Decided) or outcome.spent_nano:
                yield f"{one.series}: {_name(record)} would measure something; report this as a fault of `left`"
                break
            row = outcome.row


def _name(record: Record) -> str:
    if "member" in record:
        return f"the cap of the member (epsilon {record['epsilon']})"
    if "version" in record:
        return f"version {record['version']} of its policy (epsilon {record['epsilon']})"
    return f"the fence's reading (timestamp {record['timestamp']})"


def _refused(reason: Reason, record: Record, limits: Limits) -> str:
    """Return the reason and what to do: with settings where they are at fault, else what the reason's advice is."""
    remedy = REASONS[reason].remedy
    if reason == "future":
        after_ms = record["timestamp"] - (limits.max_future_ms or 0)
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=after_ms)
        remedy = f"make and send the records after {moment.isoformat()}, or raise `max_future_ms`"
    elif reason == "budget-cap" and "member" in record:
        remedy = "raise or unset `member_epsilon` until all are adopted"
    elif reason == "budget-cap":
        capped = limits.max_epsilon_nano is not None and record["epsilon"] * 10**9 > limits.max_epsilon_nano
        remedy = "raise `max_epsilon` until all are adopted" if capped else "raise or unset `lifetime_epsilon`"
    elif reason == "malformed" and "member" in record:
        remedy = "set `member_separator` to the one of the ledger"
    elif reason == "member-cap":
        remedy = "unset `lifetime_epsilon`, so that a series claims its first epsilon"
    elif reason == "weaker-policy":
        remedy = "set `accept_weaker_policies` until all are adopted"
    elif reason == "invalid-policy" and not limits.accept_policies:
        remedy = "set `accept_policies`"
    return f"{reason} ({REASONS[reason].meaning}): {remedy}"
