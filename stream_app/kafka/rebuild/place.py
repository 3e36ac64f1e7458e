"""The position of a partition's input after its state is lost: what was processed, refused or deleted."""

from typing import NamedTuple

from stream_app.deciding.views.refusals import Refusals, may_tell_a_view, targets_of
from stream_app.kafka.evidence.ends import NOTHING, input_lost, input_short
from stream_app.kafka.evidence.foreign import content, input_offset
from stream_app.kafka.evidence.row import UNKNOWN
from stream_app.kafka.evidence.skipped import skipped
from stream_app.kafka.parts import Site
from stream_app.kafka.rebuild.folding import FoldedLogs
from stream_app.kafka.rebuild.open_steps import LOST, Loss, more_lost
from stream_app.kafka.rebuild.open_units import units_of
from stream_app.kafka.rebuild.survey import AcceptedLosses, Again


class InputPlace(NamedTuple):
    """The position of a partition's input."""

    next_offset: int  # first offset to process
    start: int  # no open step was opened before it
    first: int  # the first offset kept
    rejected: Refusals
    """The records refused from ``start`` on, or from where input continued after the first loss, if that is earlier."""
    losses: list[Loss]  # accepted losses of input so far
    skips: bool  # whether the group's offset skips input, which was accepted
    last_reject: int  # input offset of the last reject; -1 if none
    group: int  # the group's offset, if no input from the outputs to it needs one
    named: list[str]  # series of each reject that may come from a view that cannot begin

    @property
    def gap(self) -> int:
        """Return the offset from which the input is complete and was processed."""
        return self.next_offset if self.skips else self.first

    @property
    def lost(self) -> Loss | None:
        """Return the loss of input that open steps may need, beyond the accepted losses."""
        if self.skips:
            return Loss(self.next_offset, self.next_offset)
        return more_lost(self.losses, self.first, self.start, self.next_offset)


async def place_of(
    site: Site, partition: int, told: FoldedLogs, again: Again | None, accepted: AcceptedLosses
) -> InputPlace:
    """Return the position of a partition's input.

    Raises `PartitionStoppedError` for input that is lost or skipped, unless that is accepted.
    """
    committed = await site.brokers.committed(partition) or 0
    # No step open now was opened before the group's offset, but steps that were open earlier were.
    opened = committed if again is None else again.opened
    units = units_of(told)
    since = min([opened, *(told.read_from.get(series, 0) for series in units)])
    rejected, named = Refusals(targets_of(told.rows, site.context.limits.member_separator)), list[str]()
    last_input, last_reject = told.last_input, NOTHING
    losses: list[Loss] = []
    async with site.brokers.reader("read_committed") as reader:
        async for records in reader.records(site.names.rejects, partition, 0):
            for record in records:
                offset = input_offset(record)
                last_reject = max(last_reject, offset)
                reject = content(record)
                if reject.get("reason") == LOST:
                    losses.append(Loss(reject["offset"] + 1, offset + 1, reject["series"]))
                    continue
                if reject.get("series") and may_tell_a_view(reject.get("reason", ""), reject.get("timestamp")):
                    named.append(reject["series"])
                if offset >= min([since, *(loss.line for loss in losses)]):
                    rejected.add(offset, reject.get("series"), reject.get("reason", ""))
        last_input = max(last_input, last_reject)
        first, end = await reader.bounds(site.names.events, partition)
        next_offset = max(last_input + 1, committed) if again is None else again.start
        if next_offset > end:
            raise input_short(next_offset, end).stopped(partition)
        known = last_input + 1 if again is None else again.start + again.inputs
        passed = await skipped(reader, site.names.events, partition, known, committed, units)
    if passed is not None and again is not None:  # input is not skipped; the worker checks its offset
        committed, passed = UNKNOWN, None
    if passed is not None and not accepted.skipped_input:
        raise passed.refused(site.names, partition, known, committed)
    if 0 < next_offset < first and not accepted.lost_input:
        raise input_lost(next_offset, first).stopped(partition)
    skips = passed is not None
    return InputPlace(max(next_offset, first), opened, first, rejected, losses, skips, last_reject, committed, named)
