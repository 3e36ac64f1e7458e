"""The rules of the production code whose absence the simulation must notice, one by one."""

from typing import Final

from tests.simulation.plans.planted_holes import OF_HOLES
from tests.simulation.plans.planted_units import OF_UNITS
from tests.simulation.planting import Planted

_OWNER: Final = "stream_app.kafka.owner"
_EVIDENCE: Final = "stream_app.kafka.evidence"

PLANTED: Final = (
    Planted(
        "no fence",
        "one transactional id a partition, so a new owner fences the one before",
        "tests.cluster.brokers:MemoryBrokers.fence",
        2,
        (('f"{self._application}-{partition}"', 'f"{self._application}-{self._client.name}-{partition}"'),),
    ),
    Planted(
        "release before entry",
        "ledger entries are acknowledged before any release is sent",
        f"{_OWNER}.transaction:Transactions.commit",
        1,
        (
            ("ledger_end: int | None = None", "ledger_end, early = None, []"),
            (
                "written = await writer.send(names.ledger, batch.ledger)",
                (
                    "early = [await writer.send(names.releases, batch.releases)] if batch.releases.records "
                    "else []; written = await writer.send(names.ledger, batch.ledger)"
                ),
            ),
            ("(names.releases, batch.releases),", ""),
            ("extents = _unless_raised(", "extents = early + _unless_raised("),
        ),
    ),
    Planted(
        "tail not settled",
        "entries beyond the restored state bind, aborted ones too",
        f"{_OWNER}.tail:Tail.settle",
        50,
        (("bound != entry.hash", "not bound"),),
    ),
    Planted(
        "tail read committed alone",
        "the ledger's tail is read with what was aborted",
        f"{_OWNER}.restore:Restorer.restore",
        50,
        (('reader("read_uncommitted")', 'reader("read_committed")'),),
    ),
    Planted(
        "input acknowledged first",
        "input is acknowledged after its transaction has committed",
        f"{_OWNER}.transaction:Transactions.commit",
        2,
        (
            (
                "await writer.begin(",
                (
                    "self._parts.feed.keep(self._partition, batch.recall_offset); "
                    "[message.ack() for message in batch.messages]; await writer.begin("
                ),
            ),
        ),
    ),
    Planted(
        "group's offset trusted over the row",
        "the partition row says where to go on",
        f"{_OWNER}.restore:Restorer.restore",
        1,
        (
            (
                "row = self._copy.row()",
                (
                    "row = self._copy.row(); row = row if row is None or committed is None "
                    "else replace(row, next_offset=committed, recall_offset=committed)"
                ),
            ),
        ),
    ),
    Planted(
        "topic id not compared",
        "a batch takes effect only if the events topic was still the same after it was fetched",
        f"{_OWNER}.transaction:Transactions.commit",
        127,
        (("await same_topic\n", "pass\n"),),
    ),
    Planted(
        "releases sent before the topic's id is known",
        "nothing but entries is sent before the events topic is known to be the same",
        f"{_OWNER}.transaction:Transactions.commit",
        156,
        (
            ("await same_topic\n", "pass\n"),
            ("changelog = extents[-1]\n", "changelog = extents[-1]; await same_topic\n"),
        ),
    ),
    Planted(
        "key change adopted with binding entries",
        "a changed key or configuration is adopted only where nothing binds",
        f"{_OWNER}.tail:Tail.settle",
        50,
        (("bound != entry.hash", "bound != entry.hash and not self._changes"),),
    ),
    Planted(
        "changelog's head ignored",
        "a changelog that begins later than the row says stops the partition",
        f"{_EVIDENCE}.ends:begins_late",
        170,
        (('_late("changelog-short", "changelog", row.changelog_first, ends.changelog.first)', "None"),),
    ),
    Planted(
        "recall skipped",
        "input of open steps is read again at a start",
        f"{_OWNER}.tenure:recall",
        9,
        (("if row.recall_offset == row.next_offset:", "if True:"),),
    ),
    Planted(
        "rebalance without hold",
        "an owner lets its transaction end before the group rebalances",
        f"{_OWNER}.partitions:Partitions.hold",
        184,
        (("await asyncio.gather(*(partition.hold(self._patience) for partition in self._owned.values()))", "pass"),),
    ),
    Planted(
        "reopened producer without reading back",
        "who opens its producer again reads state and tail back first",
        f"{_OWNER}.tenure:Tenure.begun",
        2,
        (
            (
                "restored = await restorer.restore(await parts.brokers.committed(number), transactions.judge)",
                (
                    "from stream_app.kafka.owner.tail import Tail; "
                    "restored = Restored(kept.row, Tail(number, ()), fresh=False) if kept.row else "
                    "await restorer.restore(await parts.brokers.committed(number), transactions.judge)"
                ),
            ),
        ),
    ),
    Planted(
        "rows of a running commit forgotten",
        "what a batch changed is known to the next one while it commits, cached or not",
        f"{_OWNER}.cache:RowReader.hold",
        13,
        (("= changed, members, sealed", "= {}, members, sealed"),),
    ),
    Planted(
        "state kept beside its row",
        "a series stands as columns or as a row, never as both",
        f"{_OWNER}.cache:RowReader.take",
        18,
        (("self.states.forget(changed)", "pass"),),
    ),
    Planted(
        "answered input written again",
        "no output of input that has its outputs is written again",
        f"{_OWNER}.batch:decide",
        949,
        (("silent = cut > 0 and offsets[0] < answered", "silent = False"),),
    ),
    Planted(
        "group's offset at the input's beginning taken for decided input",
        "the group's offset where the input begins shows nothing that was decided",
        f"{_OWNER}.restore:Restorer._first_row",
        17,
        (("(committed or 0) > 0", "committed is not None"),),
    ),
    Planted(
        "members of a running commit forgotten",
        "what a batch claims of members is known to the next one while it commits",
        f"{_OWNER}.cache:RowReader.find_member",
        20,
        (("self._members.get(chain) or ", ""),),
    ),
    Planted(
        "claims of a batch forgotten",
        "a record sees what those before it in its batch claim of its member",
        "stream_app.deciding.decider:Decider._member",
        8,
        (("member = self.members.get(chain)", "member = None"),),
    ),
    Planted(
        "a member's rows not written",
        "what series claim of a member is stored with their rows",
        "stream_app.deciding.decider:Decider.stored",
        9,
        (("[member.dump() for member in self.members.values()]", "[]"),),
    ),
    Planted(
        "a claim beyond the cap taken",
        "the claims of a member sum to at most its cap",
        "stream_app.deciding.adopting:claimed",
        8,
        (("member.exceeding", "member.exceeding and member.claimed_nano // 2 > member.cap_nano"),),
    ),
    Planted(
        "readings acknowledged",
        "input is acknowledged no further than the oldest reading whose step is open",
        "stream_app.deciding.collection:Collection.floor",
        12,
        (("if step is not None and", "if isinstance(step, Counters) and"),),
    ),
    Planted(
        "readings of open steps not recalled",
        "the readings of open steps are read again at a start",
        "stream_app.deciding.decision:recalled",
        27,
        (("if step is not None:", "if isinstance(step, Counters):"),),
    ),
    Planted(
        "dropped readings kept",
        "a version under which steps do not stay open drops their readings",
        "stream_app.deciding.collection:Collection.drop",
        201,
        (("self._forget(len(self._series.pop(series, ())))", "pass"),),
    ),
    Planted(
        "another application's claim taken for one's own",
        "who finds the claim of another application stops before it writes anything",
        f"{_EVIDENCE}.claim:_own",
        25,
        (("if (claim.application, claim.prefix) != (settings.application, settings.prefix):", "if False:"),),
    ),
    Planted(
        "spend of the row before",
        "each record that is decided as columns spends what was drawn for it",
        "stream_app.deciding.columns.deciding:_round",
        3,
        (("words: Any", "object.__setattr__(step, 'spend_nano', np.roll(step.spend_nano, 1)); words: Any"),),
    ),
    Planted(
        "a level one round late",
        "a series that has several records among columns goes on from the filter's level after the one before",
        "stream_app.deciding.columns.deciding:_round",
        5,
        (
            (
                "states.levels[places] = np.stack(latest.level, 1)",
                (
                    "now, late = np.stack(latest.level, 1).tolist(), vars(states).setdefault('late', {}); "
                    "states.levels[places] = [*map(late.get, places.tolist(), now)]; late |= zip(places.tolist(), now)"
                ),
            ),
        ),
    ),
    Planted(
        "open steps forgotten with another key",
        "the row that is written under another noise key still says where open steps are read again from",
        f"{_OWNER}.tenure:Tenure.begun",
        30,
        (("batch.recall_offset = row.recall_offset", "pass"),),
    ),
    Planted(
        "an end asked for again",
        "an unanswered end of a transaction is never repeated under its epoch",
        "tests.cluster.writer:MemoryWriter._end",
        21,
        (("self._client.ask(kind", "self._client.insist(kind"),),
    ),
    Planted(
        "a standby copy that outlives its changelog's end",
        "a standby copy whose changelog goes on under another life, or from an earlier point, is discarded",
        f"{_OWNER}.changelogcopy:StandbyCopies.apply",
        14,
        (("if self._breaks_off(partition, records):", "if False:"),),
    ),
    Planted(
        "a batch that a standby copy was fed is skipped",
        "a standby copy tells no offset of a record that was not written into it",
        f"{_OWNER}.changelogcopy:StandbyCopies.apply",
        14,
        (("records.pairs(),", "records.pairs() if records.offsets[0] % 5 else [],"),),
    ),
    Planted(
        "a discarded standby copy filled on",
        "a standby copy that was discarded takes nothing before it is read from its changelog's beginning",
        f"{_OWNER}.changelogcopy:StandbyCopies._breaks_off",
        889,
        (("self._followed.discard(partition)", "pass"), ("return bool(strange or earlier)", "return False")),
    ),
    Planted(
        "a copy's lost end not noticed behind markers",
        "a copy whose last record the changelog has no more, and no partition row after it, is discarded",
        f"{_OWNER}.changelogcopy:ChangelogCopy._apply",
        3690,
        (("return goes_on", "return True"),),
    ),
    Planted(
        "a hole taken for outputs that may be missing",
        "an output that is missing before the last one of its log stops the partition",
        f"{_EVIDENCE}.outputs:CommittedOutputs.holds",
        24,
        (("if offset < self._gone:", "if offset < max(self._gone, self._whole):"),),
    ),
    *OF_HOLES,
    *OF_UNITS,
)
