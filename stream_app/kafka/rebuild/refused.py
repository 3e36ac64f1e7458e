"""Combines all reasons that stop recovery (missing logs and losses to accept) into one message."""

from collections.abc import Sequence
from typing import Final

from stream_app.kafka.rebuild.survey import AcceptedLosses
from stream_app.kafka.stops import PartitionStoppedError, StopReason

ACCEPTED_BY: Final[dict[StopReason, str]] = {
    "input-lost": "lost_input",
    "input-skipped": "skipped_input",
    "ledger-short": "lost_ledger",
    "releases-short": "lost_releases",
    "rejects-short": "lost_releases",
    "release-lost": "lost_releases",
}
"""The loss that must be accepted for recovery to continue, by stop reason."""
_CONSEQUENCES: Final = {
    "lost_input": "lost input is skipped, and the steps that it left open are given up",
    "skipped_input": "input that the group's offset skips is never processed",
    "lost_ledger": "nobody can tell whether a series is missing",
    "lost_releases": "steps whose releases are missing are given up, their epsilon stays spent, and missing rejects "
    "are never published",
}


def more_accepted(accepted: AcceptedLosses, reason: StopReason) -> AcceptedLosses | None:
    """Return the losses to accept for recovery to continue; None if accepting more does not help."""
    loss = ACCEPTED_BY.get(reason)
    return None if loss is None or getattr(accepted, loss) else accepted._replace(**{loss: True})


def all_refused(found: Sequence[PartitionStoppedError], accepted: AcceptedLosses) -> PartitionStoppedError:
    """Return one refusal that combines several, with the command that accepts ``accepted``."""
    first, *others = found
    losses = [loss for loss, is_accepted in accepted._asdict().items() if is_accepted]
    if len(losses) == 1:
        return first
    besides = "".join(f"; also expected {one.asked}; found {one.found} ({one.reason})" for one in others)
    options = " ".join(f"--accept-{loss.replace('_', '-')}" for loss in losses)
    given_up = "; ".join(_CONSEQUENCES[loss] for loss in losses)
    remedy = f"Restore all topics from one backup. If there is none, run `recover {options}`: {given_up}"
    return PartitionStoppedError(first.partition, first.reason, first.asked, f"{first.found}{besides}", remedy)
